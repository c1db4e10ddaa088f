"""Measures as per-claim values, averaged over groups of claims, with intervals and paired tests.

Claims are the sampling unit (not hops or sentences), because every measure is a mean over claims.
All resampling is seeded: the same files give the same numbers. The measures of documents are those
that all tasks share, and those of HoVer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import ir_measures
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from admiral.errors import AdmiralError
from admiral.evaluation import Pair, PairedClaims, count_noun
from admiral.gold import Label
from proofs import Verdict

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measure:
    """The value of every claim under one measure."""

    section: str  # heading that the measure is shown under, such as ``labels``
    name: str
    # (claims, 1) for a mean over claims, or (claims, 2) for the harmonic mean of two means; NaN for
    # claims that do not count
    columns: FloatArray

    def value(self, members: NDArray[np.bool_]) -> float:
        """Return the value for a group of claims, (claims,); NaN if none of them counts."""
        own = self._counted(members)
        return float(_value(*own)) if own.shape[1] else math.nan

    def interval(self, members: NDArray[np.bool_], seed: int) -> tuple[float, float]:
        """Return the 95% bootstrap interval over the claims that count; NaN if none does."""
        own = self._counted(members)
        if own.shape[1] < 2:
            return self.value(members), self.value(members)
        return _interval(own, _value, seed)

    def _counted(self, members: NDArray[np.bool_]) -> FloatArray:
        own = self.columns[members]
        return own[~np.isnan(own[:, 0])].T

    def count(self, members: NDArray[np.bool_]) -> int:
        """Return the number of claims of a group, (claims,), that count."""
        return int((~np.isnan(self.columns[members, 0])).sum())


@dataclass(frozen=True, slots=True)
class Group:
    """A named group of claims."""

    name: str
    members: NDArray[np.bool_]  # boolean mask over all claims, (claims,)


#: The value of a claim; None if it does not count.
Value = Callable[[Pair], float | None]


def mean_measures(
    section: str,
    pairs: Sequence[Pair],
    values: Mapping[str, Value],
    counts: Callable[[Pair], bool] = lambda pair: True,
) -> list[Measure]:
    """Return the measures that are means of values, by name, over the claims that count."""
    measures = []
    for name, value in values.items():
        own = [value(pair) if counts(pair) else None for pair in pairs]
        column = np.array([np.nan if each is None else float(each) for each in own])
        measures.append(Measure(section, name, column.reshape(-1, 1)))
    return measures


def has_gold(pair: Pair) -> bool:
    """Return whether a claim has gold evidence."""
    return bool(pair.gold.evidence)


def harmonic_mean_measure(section: str, name: str, first: Measure, second: Measure) -> Measure:
    """Return the harmonic mean of two measures' means (not the mean of harmonic means)."""
    return Measure(section, name, np.hstack([first.columns, second.columns]))


def group_by_hops(pairs: Sequence[Pair], noun: str) -> list[Group]:
    """Group the claims: all, then by number of hops, such as ``2 hops`` if `noun` is ``hop``."""
    hops = np.array([pair.gold.hops for pair in pairs], dtype=np.int64)
    groups = [Group("all", np.ones(len(pairs), dtype=bool))]
    for number in sorted(set(hops.tolist()) - {0}):
        groups.append(Group(count_noun(number, noun), hops == number))
    return groups


Item = TypeVar("Item", bound=Hashable)


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def covers_any_set(gold_sets: Sequence[Set[Item]], items: Collection[Item]) -> bool:
    """Return whether `items` include every member of at least one of the alternative sets."""
    return any(gold <= set(items) for gold in gold_sets)


def recall_at_k(gold_sets: Sequence[Set[str]], ranking: Sequence[str], k: int) -> bool:
    """Return whether the first `k` documents include all of one gold set (the paper's recall@k)."""
    return covers_any_set(gold_sets, ranking[:k])


def exact_match(gold_sets: Sequence[Set[str]], ranking: Sequence[str]) -> bool:
    """Return whether the ranking begins with the n documents of a gold set, in any order."""
    return any(gold == set(ranking[: len(gold)]) for gold in gold_sets)


def r_precision(gold_sets: Sequence[Set[str]], ranking: Sequence[str]) -> float:
    """Return the share of a gold set of n among the first n documents, of the best set (KILT)."""
    shares = (len(gold & set(ranking[: len(gold)])) / len(gold) for gold in gold_sets)
    return max(shares, default=0.0)


def best_overlap(gold_sets: Sequence[Set[Item]], items: Collection[Item]) -> Overlap:
    """Return precision, recall and F1 against the gold set with the highest F1.

    All three are 0 if nothing is shared with any gold set.
    """
    distinct = set(items)
    overlaps = [Overlap(0.0, 0.0, 0.0)]
    for gold in gold_sets:
        shared = len(gold & distinct)
        if shared:
            precision, recall = shared / len(distinct), shared / len(gold)
            overlaps.append(Overlap(precision, recall, 2 * shared / (len(distinct) + len(gold))))
    return max(overlaps, key=lambda overlap: overlap.f1)


def multiset_f1(gold: Sequence[Item], items: Sequence[Item]) -> float:
    """Return the F1 of two lists as multisets, as in HoVer's evaluation script.

    Repetitions count; the F1 of two empty lists is 1.
    """
    if not gold or not items:
        return float(not gold and not items)
    shared = sum((Counter(gold) & Counter(items)).values())
    return 2 * shared / (len(gold) + len(items))


_RESAMPLES = 2000
_MAX_CELLS = 4_000_000  # numbers held in memory at a time


def _value(*columns: FloatArray, axis: int = -1) -> FloatArray:
    """Return the mean of a column, or the harmonic mean of the means of two."""
    means: list[FloatArray] = [np.asarray(np.mean(column, axis)) for column in columns]
    if len(means) == 1:
        return means[0]
    total = np.asarray(sum(means))
    product = 2 * means[0] * means[1]
    result: FloatArray = np.divide(product, total, out=np.zeros_like(total), where=total > 0)
    return result


def _interval(
    columns: FloatArray, statistic: Callable[..., FloatArray], seed: int
) -> tuple[float, float]:
    """Return the 95% percentile bootstrap interval of a statistic of columns (columns, claims)."""
    found = stats.bootstrap(
        tuple(columns),
        statistic,
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=_RESAMPLES,
        batch=max(_MAX_CELLS // columns.size, 1),
        rng=seed,
    )
    low, high = found.confidence_interval
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """One measure of two runs over the same claims."""

    first: float
    second: float
    n_claims: int  # number of claims that count towards the measure
    # low, high: 95% confidence interval of ``second - first`` (paired percentile bootstrap)
    low: float
    high: float
    # Two-sided p-value of the paired randomisation test: the probability of a difference at least
    # this large if the predictions of the two runs were swapped at random for each claim
    p_value: float


def paired_comparison(
    first: Measure, second: Measure, members: NDArray[np.bool_], seed: int = 0
) -> PairedDifference:
    """Compare a measure of two runs: paired bootstrap and paired randomisation test.

    The measures have the same claims, of which `members` are compared. The p-value is not corrected
    for multiple comparisons.
    """
    columns = np.hstack([first.columns, second.columns])[members]
    columns = columns[~np.isnan(columns).any(1)].T
    one, two = np.split(columns, 2)
    count = columns.shape[1]
    if count < 2:
        values = (float(_value(*one)), float(_value(*two))) if count else (math.nan, math.nan)
        change = values[1] - values[0]
        return PairedDifference(*values, count, change, change, 1.0 if count else math.nan)

    def difference(*given: FloatArray, axis: int = -1) -> FloatArray:
        return _value(*given[len(one) :], axis=axis) - _value(*given[: len(one)], axis=axis)

    observed = abs(difference(*columns))
    # The observed assignment counts as one of the swaps, so that p is never 0.
    extreme = 1
    generator = np.random.default_rng(seed)
    size = max(_MAX_CELLS // columns.size, 1)
    for start in range(0, _RESAMPLES, size):
        swapped = generator.random((min(size, _RESAMPLES - start), count)) < 0.5
        left = (np.where(swapped, b, a) for a, b in zip(one, two, strict=True))
        right = (np.where(swapped, a, b) for a, b in zip(one, two, strict=True))
        extreme += int((abs(difference(*left, *right)) >= observed - 1e-12).sum())
    return PairedDifference(
        float(_value(*one)),
        float(_value(*two)),
        count,
        *_interval(columns, difference, seed),
        extreme / (_RESAMPLES + 1),
    )


RANKING_SECTION = "documents of the ranking"
EVIDENCE_SECTION = "documents of the evidence"
IR_MEASURES_SECTION = "ranking (ir-measures)"


Measures = Callable[[Sequence[Pair]], list[Measure]]


def task_measures(
    paired: PairedClaims,
    ks: Sequence[int],
    *,
    documents: Measures = lambda pairs: [],
    sentences: Measures = lambda pairs: [],
    labels: Measures = lambda pairs: [],
) -> list[Measure]:
    """Return the measures that the gold file and the run have the data for.

    `documents`, `sentences`, `labels`: those of a task, beside the measures that all tasks share.
    """
    pairs = paired.pairs
    result = [*ranking_measures(pairs, ks), *documents(pairs)]
    if paired.has_sentences:
        result += evidence_measures(pairs)
        if any(pair.gold.sentences for pair in pairs):
            result += sentences(pairs)
    if paired.has_verdicts and any(pair.gold.label for pair in pairs):
        result += labels(pairs)
    return result


def ranking_measures(pairs: Sequence[Pair], ks: Sequence[int]) -> list[Measure]:
    """Return all-gold recall@k for each `k`, exact match, and R@k for each `k`, of the ranking.

    recall@k is the share of claims whose gold documents are all among the first k (the measure of
    the paper's results tables), so a claim scores 0 or 1. Exact match is the share of claims whose
    n gold documents are the first n of the ranking. R@k is recall as in TREC and in question
    answering: the share of a claim's gold documents among the first k, of all its sets.
    """

    def recall(pair: Pair, k: int) -> float:
        return recall_at_k(pair.title_sets, pair.documents, k)

    values: dict[str, Value] = {f"recall@{k}": partial(recall, k=k) for k in ks}
    values["exact match"] = lambda pair: exact_match(pair.title_sets, pair.documents)
    return [
        *mean_measures(RANKING_SECTION, pairs, values, has_gold),
        *ir_measures_scores(RANKING_SECTION, [f"R@{k}" for k in ks], pairs),
    ]


def evidence_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return measures of the documents that evidence was taken from.

    These are precision, recall, F1, exact match, and whether the evidence is complete, that is, has
    a sentence of every gold document. Each value is the mean over claims (macro average). Where
    there are alternative gold sets, precision, recall and F1 are those of the set with the highest
    F1.
    """

    def overlap(pair: Pair) -> Overlap:
        return best_overlap(pair.title_sets, pair.evidence_documents)

    values: dict[str, Value] = {
        "precision": lambda pair: overlap(pair).precision,
        "recall": lambda pair: overlap(pair).recall,
        "F1": lambda pair: overlap(pair).f1,
        "exact match": lambda pair: set(pair.evidence_documents) in pair.title_sets,
        "evidence complete": lambda p: covers_any_set(p.title_sets, p.evidence_documents),
    }
    return mean_measures(EVIDENCE_SECTION, pairs, values, has_gold)


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
    """Return the measures of HoVer, where a label counts beside the facts that are found."""
    for pair in paired.pairs:
        if len(pair.gold.evidence) > 1:
            raise AdmiralError(
                f"claim {pair.gold.id!r} has {len(pair.gold.evidence)} alternative sets of "
                "evidence, but HoVer claims have one. Evaluate it by the rules of its own data set"
            )

    def sentences(pairs: Sequence[Pair]) -> list[Measure]:
        scores = score_measures(pairs, with_verdicts=paired.has_verdicts)
        return [*supporting_fact_measures(pairs), *scores]

    return task_measures(paired, ks, sentences=sentences)


def supporting_fact_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return exact match and F1 of the evidence as a list of supporting facts.

    As in HoVer's evaluation script, two lists match if they have the same length and the
    prediction includes every gold fact. The script leaves claims without a prediction out; here
    they score 0.
    """

    def exact(pair: Pair) -> bool:
        gold = pair.gold.sentences
        return len(gold) == len(pair.sentences) and set(gold) <= set(pair.sentences)

    values: dict[str, Value] = {
        "exact match": lambda pair: pair.is_answered and exact(pair),
        "F1": lambda p: p.is_answered and multiset_f1(p.gold.sentences, p.sentences),
    }
    return mean_measures(FACT_SECTION, pairs, values)


def score_measures(pairs: Sequence[Pair], *, with_verdicts: bool) -> list[Measure]:
    """Return the share of claims with enough facts and, with verdicts, accuracy and HoVer score.

    The HoVer score is the share of claims with the correct label and a scored gold fact of every
    gold document (HoVer paper, section 4).
    """
    values: dict[str, Value] = {"facts found": covers_gold_documents}
    if with_verdicts:
        values["label accuracy"] = _is_label_correct
        values["HoVer score"] = lambda p: _is_label_correct(p) and covers_gold_documents(p)
    return mean_measures(SCORE_SECTION, pairs, values)


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
    return pair.is_answered and {title for title, _ in facts} == set(pair.gold.titles)


def _is_label_correct(pair: Pair) -> bool | None:
    """Compare SUPPORTED with NOT_SUPPORTED; None without a gold label, False without a verdict."""
    if pair.gold.label is None:
        return None
    verdict = pair.verdict
    return verdict is not None and (verdict is Verdict.SUPPORTS) == (
        pair.gold.label is Label.SUPPORTS
    )
