"""Document-level measures that all tasks share, and those of HoVer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import ir_measures
import numpy as np

from admiral.errors import AdmiralError
from admiral.evaluation.measures import (
    Group,
    Measure,
    best_overlap,
    covers_any_set,
    exact_match,
    group_by_hops,
    mean_measure,
    multiset_f1,
    recall_at_k,
)
from admiral.evaluation.predictions import Pair, PairedClaims, count_noun
from admiral.gold import Label
from proofs import Verdict

RANKING_SECTION = "documents of the ranking"
EVIDENCE_SECTION = "documents of the evidence"
IR_MEASURES_SECTION = "ranking (ir-measures)"


def ranking_measures(pairs: Sequence[Pair], ks: Sequence[int]) -> list[Measure]:
    """Return all-gold recall@k for each `k`, exact match, and R@k for each `k`, of the ranking.

    recall@k is the share of claims whose gold documents are all among the first k (the measure of
    the paper's results tables), so a claim scores 0 or 1. Exact match is the share of claims whose
    n gold documents are the first n of the ranking. R@k is recall as in TREC and in question
    answering: the share of a claim's gold documents among the first k, of all its sets.
    """

    def recall(k: int) -> Callable[[Pair], float]:
        return lambda pair: recall_at_k(pair.title_sets, pair.documents, k)

    def exact(pair: Pair) -> float:
        return exact_match(pair.title_sets, pair.documents)

    return [
        *(_over_gold(RANKING_SECTION, f"recall@{k}", pairs, recall(k)) for k in ks),
        _over_gold(RANKING_SECTION, "exact match", pairs, exact),
        *ir_measures_scores(RANKING_SECTION, [f"R@{k}" for k in ks], pairs),
    ]


def evidence_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return measures of the documents that evidence was taken from.

    These are precision, recall, F1, exact match, and whether the evidence is complete, that is, has
    a sentence of every gold document. Each value is the mean over claims (macro average). Where
    there are alternative gold sets, precision, recall and F1 are those of the set with the highest
    F1.
    """

    def component(number: int) -> Callable[[Pair], float]:
        return lambda pair: best_overlap(pair.title_sets, _evidence_documents(pair))[number]

    measures = [
        _over_gold(EVIDENCE_SECTION, name, pairs, component(number))
        for number, name in enumerate(("precision", "recall", "F1"))
    ]
    exact = _over_gold(
        EVIDENCE_SECTION,
        "exact match",
        pairs,
        lambda pair: set(_evidence_documents(pair)) in pair.title_sets,
    )
    complete = _over_gold(
        EVIDENCE_SECTION,
        "evidence complete",
        pairs,
        lambda pair: covers_any_set(pair.title_sets, _evidence_documents(pair)),
    )
    return [*measures, exact, complete]


def ir_measures_scores(section: str, names: Sequence[str], pairs: Sequence[Pair]) -> list[Measure]:
    """Return measures as ir-measures computes them.

    A document is relevant if it is in any gold set of the claim, or by its grade in qrels. Claims
    without gold documents do not count, while queries of qrels without a relevant one count as 0,
    as for trec_eval. `names`: names that ir-measures knows, such as ``nDCG@10``; the mean of AP is
    MAP, that of RR is MRR.
    """
    if not names:
        return []
    metrics = [ir_measures.parse_measure(name) for name in names]
    with_gold = [pair for pair in pairs if pair.gold.evidence or pair.gold.grades]
    qrels = {pair.gold.id: _relevance(pair) for pair in with_gold}
    # ir-measures ranks by score, so the rank becomes a descending score.
    run = {p.gold.id: {t: -float(rank) for rank, t in enumerate(p.documents)} for p in with_gold}
    rows = {pair.gold.id: row for row, pair in enumerate(pairs)}
    columns = {str(metric): np.full((len(pairs), 1), np.nan) for metric in metrics}
    if with_gold:
        for score in ir_measures.iter_calc(metrics, qrels, run):
            columns[str(score.measure)][rows[score.query_id]] = score.value
    return [Measure(section, name, column) for name, column in columns.items()]


def _relevance(pair: Pair) -> Mapping[str, int]:
    relevant = frozenset[str]().union(*pair.title_sets)
    return dict(pair.gold.grades) or dict.fromkeys(relevant, 1)


def short_ranking_notes(pairs: Sequence[Pair], ks: Sequence[int]) -> list[str]:
    """Return a note if some rankings hold fewer documents than the largest k."""
    k = max(ks)
    short = sum(pair.prediction is not None and len(pair.documents) < k for pair in pairs)
    if not short:
        return []
    return [f"{count_noun(short, 'ranking')} of fewer than {k} documents; what is there is counted"]


def _evidence_documents(pair: Pair) -> tuple[str, ...]:
    return pair.prediction.evidence_documents if pair.prediction else ()


def _over_gold(
    section: str, name: str, pairs: Sequence[Pair], value: Callable[[Pair], float]
) -> Measure:
    return mean_measure(
        section, name, pairs, lambda pair: value(pair) if pair.gold.evidence else None
    )


FACT_SECTION = "supporting facts"
SCORE_SECTION = "HoVer score"
_MAX_SENTENCES_PER_DOCUMENT = 2


def hover_groups(pairs: Sequence[Pair]) -> list[Group]:
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


def hover_measures(paired: PairedClaims, ks: Sequence[int]) -> list[Measure]:
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
