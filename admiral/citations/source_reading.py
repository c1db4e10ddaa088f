"""Read a source with the verifier: the sentences that say most of a claim, all of them together.

The evidence of a claim is often spread over a page, and the verifier reads few sentences at a time.
It gets those that together cover most of the claim's words: the first is the sentence that covers
most, and each further one is worth what it adds and half of what it covers itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from admiral.citations.coverage_verifier import TermWeights, passage_stems, text_stems
from admiral.io.sentence_splitter import split_sentences
from admiral.library.source_records import Passage
from proofs.judges.fitted_weights import log_odds
from proofs.verifier.reading import LABELS, Verifier

#: Sentences of a source that are read with a claim.
SENTENCES = 5
# What a word is worth that a chosen sentence has, too.
_REPEATED = 0.5
_ENTAILED, _CONTRADICTED = LABELS.index("entailment"), LABELS.index("contradiction")


@dataclass(frozen=True, slots=True)
class SourceReading:
    """The verifier's reading of a claim with the sentences of a source."""

    entailed: float  # log-odds that they entail the claim together
    # Probability that they contradict it and none of them entails it, and the one that does most.
    denial: float
    denied_by: str


# Probabilities below the one with these log-odds are alike.
_LEAST = -6.0
#: The reading of a source that shares no word with the claim.
NOTHING_SAID = SourceReading(_LEAST, 0.0, "")


class SourceReader:
    """Reads claims with sources, given as all of their passages."""

    def __init__(self, verifier: Verifier, stems: TermWeights) -> None:
        self._verifier, self._stems = verifier, stems

    def read(
        self, claims: Sequence[str], sources: Sequence[Sequence[Passage]]
    ) -> list[SourceReading]:
        """Return the reading of each claim with its source."""
        chosen = [
            self.sentences(claim, passages) for claim, passages in zip(claims, sources, strict=True)
        ]
        known = [at for at, sentences in enumerate(chosen) if sentences]
        # Without titles: that of a page of the web is seldom the name of its subject.
        readings = self._verifier.read(
            [claims[at] for at in known], [[("", text) for text in chosen[at]] for at in known]
        )
        results = [NOTHING_SAID] * len(claims)
        for at, reading in zip(known, readings, strict=True):
            alone = reading.sentences[:, _ENTAILED].max()
            denial = float(reading.labels[_CONTRADICTED] * (1 - alone))
            denying = chosen[at][int(reading.sentences[:, _CONTRADICTED].argmax())]
            if reading.comparisons:  # exact reasoning names the sentence
                denying = chosen[at][reading.comparisons[0].sentence]
            entailed = max(log_odds(float(reading.labels[_ENTAILED])), _LEAST)
            results[at] = SourceReading(entailed, denial, denying)
        return results

    def sentences(self, claim: str, passages: Sequence[Passage]) -> list[str]:
        """Return the sentences of a source to read with a claim, in the order of the text."""
        weights = {stem: self._stems.weight(stem) for stem in sorted(set(text_stems(claim)))}
        stems = [(text, passage_stems(text)) for text in source_sentences(tuple(passages))]
        covered = [[stem for stem in weights if stem in own] for _, own in stems]
        alone = [sum(weights[stem] for stem in own) for own in covered]
        left, chosen = set(weights), list[int]()
        while len(chosen) < SENTENCES:
            worth = [
                _REPEATED * alone[at] + sum(weights[stem] for stem in own if stem in left)
                if alone[at] and at not in chosen
                else 0.0
                for at, own in enumerate(covered)
            ]
            best = max(range(len(worth)), key=worth.__getitem__, default=None)
            if best is None or not worth[best]:
                break
            chosen.append(best)
            left.difference_update(covered[best])
        return [stems[at][0] for at in sorted(chosen)]


@lru_cache(64)
def source_sentences(passages: tuple[Passage, ...]) -> tuple[str, ...]:
    """Return the distinct sentences of the text that overlapping passages are cut from, in order.

    A line is at least one sentence: a title or heading often ends without a full stop.
    """
    pieces: list[str] = []
    last: Passage | None = None
    for passage in passages:
        same = last is not None and last.url == passage.url and passage.start <= last.end
        pieces.append(passage.text[last.end - passage.start :] if same and last else passage.text)
        if not same and last is not None:
            pieces[-2] += "\n" if last.url != passage.url else " "
        last = passage
    lines = "".join(pieces).splitlines()
    return tuple(dict.fromkeys(text for line in lines for text in split_sentences(line)))
