"""FEVER's measures, as its official scorer computes them, and the paper's of documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from admiral.evaluation.document_measures import evidence_measures, ranking_measures
from admiral.evaluation.measures import Group, Measure, groups_of, harmonic, per_claim
from admiral.evaluation.overlap import all_found
from admiral.evaluation.pairing import Pair, Pairs
from admiral.gold import Label

SENTENCES = "sentences (first 5)"
LABELS = "labels"
MOST = 5


def groups(pairs: Sequence[Pair]) -> list[Group]:
    """Return all claims, and those of each number of documents that they need at least."""
    return groups_of(pairs, "document")


def measures(pairs: Pairs, ks: Sequence[int]) -> list[Measure]:
    """Return the measures that the gold file and the run allow."""
    every = pairs.pairs
    found = ranking_measures(every, ks)
    if pairs.has_sentences:
        found += evidence_measures(every)
        if any(pair.gold.sentences for pair in every):
            found += sentence_measures(every)
    if pairs.has_verdicts and any(pair.gold.label for pair in every):
        found += label_measures(every)
    return found


def sentence_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return evidence precision, recall and F1 of the first five sentences.

    The scorer's rules: claims without enough information do not count; no sentence at all has
    precision 1; a claim for which the gold file has no evidence has recall 1; F1 is the harmonic
    mean of the two means. A claim without an answer has 0 and 0.
    """

    def verifiable(pair: Pair) -> bool:
        label = pair.gold.label
        return bool(pair.gold.evidence) if label is None else label is not Label.NOT_ENOUGH_INFO

    return evidence_scores(pairs, verifiable)


def evidence_scores(pairs: Sequence[Pair], counted: Callable[[Pair], bool]) -> list[Measure]:
    """Return evidence precision, recall and F1 over the claims that count."""

    def of(rule: Callable[[Pair], float]) -> Callable[[Pair], float | None]:
        return lambda p: rule(p) if counted(p) else None

    precision = per_claim(SENTENCES, "evidence precision", pairs, of(_precision))
    recall = per_claim(SENTENCES, "evidence recall", pairs, of(_recall))
    return [precision, recall, harmonic(SENTENCES, "evidence F1", precision, recall)]


def label_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return label accuracy and the FEVER score.

    The score asks for the label and, but for claims without enough information, for all sentences
    of one of the sets among the first five. Claims without a gold label do not count; answers
    without a verdict are wrong.
    """

    def strict(pair: Pair) -> float:
        lacking = pair.gold.label is Label.NOT_ENOUGH_INFO
        return correct_label(pair) and (lacking or complete(pair))

    return [
        per_claim(LABELS, "label accuracy", pairs, lambda p: _labelled(p, correct_label(p))),
        per_claim(LABELS, "FEVER score", pairs, lambda p: _labelled(p, strict(p))),
    ]


def correct_label(pair: Pair) -> bool:
    """Return whether the verdict is the gold label."""
    verdict, label = pair.answer.verdict if pair.answer else None, pair.gold.label
    return verdict is not None and label is not None and verdict.value == label.value


def complete(pair: Pair) -> bool:
    """Return whether all sentences of one of the gold sets are among the first five."""
    found: tuple[tuple[str, int | None], ...] = pair.sentences[:MOST]
    return all_found([frozenset(one) for one in pair.gold.evidence], found)


def _precision(pair: Pair) -> float:
    if pair.answer is None:
        return 0.0
    gold = {sentence for one in pair.gold.evidence for sentence in one}
    found = pair.sentences[:MOST]
    return sum(sentence in gold for sentence in found) / len(found) if found else 1.0


def _recall(pair: Pair) -> float:
    return float(pair.answer is not None and (not pair.gold.evidence or complete(pair)))


def _labelled(pair: Pair, value: float) -> float | None:
    return None if pair.gold.label is None else value
