"""Words of a claim that its source lacks, counted: features that a reader can check by hand."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from admiral.citations.citation_records import CitedClaim
from admiral.citations.verifiers.coverage_verifier import passage_stems
from admiral.citations.verifiers.term_weights import TermWeights, text_stems
from admiral.library.source_records import Passage
from proofs.lexicons.values import excludes, same_value, value
from proofs.logic.words import Word, split_words

#: Names of the features, each of which is explained where it is computed.
LEXICAL_FEATURES = (
    "coverage_source",
    "uncovered_names",
    "uncovered_values",
    "value_conflicts",
    "claim_length",
    "source_length",
)
# A claim that lacks more names or values is not worse.
_MOST = 5
# Words of a passage that are compared with the values of a claim.
_MAX_WORDS = 400


def lexical_features(
    claim: CitedClaim, passages: Sequence[Passage], best: int, weights: TermWeights
) -> dict[str, float]:
    """Return the value of each of `LEXICAL_FEATURES`.

    Parameters
    ----------
    claim
        The claim.
    passages
        All passages of a source.
    best
        Position of the best one.
    weights
        Weights of stems.
    """
    source = frozenset[str]().union(*(passage_stems(passage.text) for passage in passages))
    words = [word for word in split_words(claim.claim) if word.is_content]
    uncovered = [word for word in words if not _is_covered(word.norm, source)]
    names = [w for w in uncovered if claim.claim[w.start].isupper() and value(w.norm) is None]
    values = [w for w in uncovered if value(w.norm) is not None]
    return {
        # Coverage of the claim by all passages together.
        "coverage_source": weights.coverage(sorted(set(text_stems(claim.claim))), source),
        # Capitalised words and values that the source does not contain.
        "uncovered_names": float(min(len(names), _MOST)),
        "uncovered_values": float(min(len(values), _MOST)),
        # Values of the claim beside which the best passage has only others of their kind.
        "value_conflicts": float(min(_conflicts(words, passages[best].text), _MOST)),
        # Logarithms of numbers of content words, and of characters.
        "claim_length": math.log(1 + len(words)),
        "source_length": math.log(1 + max(passage.end for passage in passages)),
    }


def _is_covered(norm: str, stems: Collection[str]) -> bool:
    own = text_stems(norm)
    return all(stem in stems for stem in own)


def _conflicts(words: Sequence[Word], passage: str) -> int:
    there = {w.norm for w in split_words(passage)[:_MAX_WORDS] if value(w.norm) is not None}
    return sum(
        value(word.norm) is not None
        and not any(same_value(word.norm, other) or word.norm == other for other in there)
        and any(excludes(word.norm, other) for other in there)
        for word in words
    )
