"""Neutral pairs for a data set that has none: claims with evidence of other claims.

The evidence names what the claim is about, but shares no sentence with the claim's own evidence and
lacks words of the claim. So it says something else about the same thing, as most sentences do that
retrieval finds.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from training.data.verification_pairs import Pair

_NAME = re.compile(r"[A-Z][\w'’.-]*(?: (?:(?:of|the|and|de|von) )?[A-Z0-9][\w'’.-]*)*")
_WORD = re.compile(r"\d+|\w{4,}")
_SENTENCE_END = re.compile(r"(?<=[.!?]) +")
_MIN_NAME = 4  # shorter names, such as "He", are not distinctive
_MAX_CANDIDATES = 20


def mismatched_pairs(pairs: Sequence[Pair], source: str, seed: int) -> Iterator[Pair]:
    """Yield a neutral pair for each claim of a source for which there is such evidence.

    Parameters
    ----------
    pairs
        Pairs of all sources.
    source
        The source to make pairs of.
    seed
        Seed of the choices.
    """
    own: defaultdict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        if pair.source == source:
            own[pair.claim].append(pair.evidence)
    by_name: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for evidences in own.values():
        for evidence in evidences:
            for name in set(_NAME.findall(evidence)):
                by_name[name][evidence] = None
    for claim, evidences in own.items():
        names = (name for name in _NAME.findall(claim) if len(name) >= _MIN_NAME)
        name = next(names, None)  # nearly always the subject
        if name is None:
            continue
        sentences = {text for evidence in evidences for text in _sentences(evidence)}
        rng = random.Random(f"{seed} {claim}")
        candidates = list(by_name[name])
        for other in rng.sample(candidates, min(len(candidates), _MAX_CANDIDATES)):
            if sentences.isdisjoint(_sentences(other)) and not _covers(other, claim):
                yield Pair(claim, other, "neutral", source, 1.0, False)
                break


def _covers(evidence: str, claim: str) -> bool:
    """Return whether evidence has all words of a claim, so that it may decide it."""
    words = set(_WORD.findall(claim.casefold()))
    return words <= set(_WORD.findall(evidence.casefold()))


def _sentences(text: str) -> set[str]:
    return {part.strip() for part in _SENTENCE_END.split(text)}
