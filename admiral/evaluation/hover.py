"""HoVer's measures: supporting facts, label accuracy and the HoVer score."""

from __future__ import annotations

from collections.abc import Sequence

from admiral.errors import AdmiralError
from admiral.evaluation.document_measures import evidence_measures, ranking_measures
from admiral.evaluation.measures import Group, Measure, group_by_hops, mean_measure, multiset_f1
from admiral.evaluation.pairing import Pair, PairedClaims
from admiral.gold import Label
from proofs import Verdict

FACT_SECTION = "supporting facts"
SCORE_SECTION = "HoVer score"
_MAX_SENTENCES_PER_DOCUMENT = 2


def groups(pairs: Sequence[Pair]) -> list[Group]:
    """Group the claims by number of hops, then the supported claims by number of hops."""
    by_hops = group_by_hops(pairs, "hop")
    supported = [pair.gold.label is Label.SUPPORTS for pair in pairs]
    if not any(supported):
        return by_hops
    supported_by_hops = [
        Group("supported" + (f", {group.name}" if group.name != "all" else ""), members)
        for group in by_hops
        if (members := group.members & supported).any()
    ]
    return [*by_hops, *supported_by_hops]


def measures(paired: PairedClaims, ks: Sequence[int]) -> list[Measure]:
    """Return the measures that the gold file and the run have the data for.

    Raises AdmiralError if a claim has alternative evidence sets, which HoVer does not have.
    """
    pairs = paired.pairs
    for pair in pairs:
        if len(pair.gold.evidence) > 1:
            raise AdmiralError(
                f"claim {pair.gold.id!r} has {len(pair.gold.evidence)} alternative sets of "
                "evidence, but HoVer claims have one. Evaluate it by the rules of its own data set"
            )
    result = ranking_measures(pairs, ks)
    if paired.has_sentences:
        result += evidence_measures(pairs)
        if any(pair.gold.sentences for pair in pairs):
            result += supporting_fact_measures(pairs)
            result += score_measures(pairs, with_verdicts=paired.has_verdicts)
    return result


def supporting_fact_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return exact match and F1 of the evidence as a list of supporting facts.

    As in HoVer's evaluation script, two lists match if they have the same length and the
    prediction includes every gold fact. The script leaves claims without a prediction out; here
    they score 0.
    """

    def exact(pair: Pair) -> bool:
        gold = pair.gold.sentences
        return len(gold) == len(pair.sentences) and set(gold) <= set(pair.sentences)

    def f1(pair: Pair) -> float:
        return multiset_f1(pair.gold.sentences, pair.sentences)

    return [
        mean_measure(FACT_SECTION, "exact match", pairs, lambda p: _is_answered(p) and exact(p)),
        mean_measure(FACT_SECTION, "F1", pairs, lambda p: f1(p) if _is_answered(p) else 0.0),
    ]


def score_measures(pairs: Sequence[Pair], *, with_verdicts: bool) -> list[Measure]:
    """Return the share of claims with enough facts and, with verdicts, accuracy and HoVer score.

    The HoVer score is the share of claims with the correct label and a scored gold fact of every
    gold document (HoVer paper, section 4).
    """
    facts = mean_measure(SCORE_SECTION, "facts found", pairs, covers_gold_documents)
    if not with_verdicts:
        return [facts]
    return [
        facts,
        mean_measure(SCORE_SECTION, "label accuracy", pairs, _is_label_correct),
        mean_measure(
            SCORE_SECTION,
            "HoVer score",
            pairs,
            lambda pair: _is_label_correct(pair) and covers_gold_documents(pair),
        ),
    ]


def scored_facts(sentences: Sequence[tuple[str, int]], hops: int) -> list[tuple[str, int]]:
    """Return the predicted facts that are scored for a claim of `hops` hops.

    These are the first two sentences of each of the first ``hops + 1`` documents. Documents are in
    the order of their first sentence.
    """
    kept: dict[str, list[int]] = {}
    for title, number in sentences:
        if title in kept or len(kept) <= hops:
            kept.setdefault(title, []).append(number)
    return [
        (title, number)
        for title, numbers in kept.items()
        for number in numbers[:_MAX_SENTENCES_PER_DOCUMENT]
    ]


def covers_gold_documents(pair: Pair) -> bool:
    """Return whether the scored facts include a gold fact of every gold document."""
    facts = set(scored_facts(pair.sentences, pair.gold.hops)) & set(pair.gold.sentences)
    return _is_answered(pair) and {title for title, _ in facts} == set(pair.gold.titles)


def _is_label_correct(pair: Pair) -> bool | None:
    """Compare SUPPORTED with NOT_SUPPORTED; None without a gold label, False without a verdict."""
    if pair.gold.label is None:
        return None
    verdict = pair.prediction.verdict if pair.prediction else None
    if verdict is None:
        return False
    return (verdict is Verdict.SUPPORTS) == (pair.gold.label is Label.SUPPORTS)


def _is_answered(pair: Pair) -> bool:
    return pair.prediction is not None
