"""HoVer's measures: supporting facts, and the score over k + 1 documents with 2 sentences each."""

from __future__ import annotations

from collections.abc import Sequence

from admiral.errors import AdmiralError
from admiral.evaluation.document_measures import evidence_measures, ranking_measures
from admiral.evaluation.measures import Group, Measure, groups_of, per_claim
from admiral.evaluation.overlap import counted_f1
from admiral.evaluation.pairing import Pair, Pairs
from admiral.gold import Label
from proofs import Verdict

SENTENCES = "supporting facts"
SCORE = "HoVer score"
_PER_DOCUMENT = 2


def groups(pairs: Sequence[Pair]) -> list[Group]:
    """Return all claims by hops, then the supported ones by hops."""
    everything = groups_of(pairs, "hop")
    supported = [pair.gold.label is Label.SUPPORTS for pair in pairs]
    if not any(supported):
        return everything
    shown = [
        Group("supported" + (f", {group.name}" if group.name != "all" else ""), members)
        for group in everything
        if (members := group.members & supported).any()
    ]
    return [*everything, *shown]


def measures(pairs: Pairs, ks: Sequence[int]) -> list[Measure]:
    """Return the measures that the gold file and the run allow.

    Raises
    ------
    AdmiralError
        If a claim has alternative sets of evidence, which HoVer does not know.
    """
    every = pairs.pairs
    for pair in every:
        if len(pair.gold.evidence) > 1:
            raise AdmiralError(
                f"claim {pair.gold.id!r} has {len(pair.gold.evidence)} alternative sets of "
                "evidence, HoVer's have one. Evaluate it by the rules of its own data set"
            )
    found = ranking_measures(every, ks)
    if pairs.has_sentences:
        found += evidence_measures(every)
        if any(pair.gold.sentences for pair in every):
            found += [*fact_measures(every), *score_measures(every, pairs.has_verdicts)]
    return found


def fact_measures(pairs: Sequence[Pair]) -> list[Measure]:
    """Return exact match and F1 of the evidence as a list of supporting facts.

    By HoVer's script the two lists match if they are equally long and every gold fact is in the
    answer. It leaves claims without an answer out; here they are 0.
    """

    def exact(pair: Pair) -> bool:
        gold = pair.gold.sentences
        return len(gold) == len(pair.sentences) and set(gold) <= set(pair.sentences)

    return [
        per_claim(SENTENCES, "exact match", pairs, lambda p: _answered(p) and exact(p)),
        per_claim(
            SENTENCES,
            "F1",
            pairs,
            lambda p: counted_f1(p.gold.sentences, p.sentences) if _answered(p) else 0.0,
        ),
    ]


def score_measures(pairs: Sequence[Pair], verdicts: bool) -> list[Measure]:
    """Return the share of claims with enough facts and, with verdicts, accuracy and HoVer score."""
    facts = per_claim(SCORE, "facts found", pairs, facts_found)
    if not verdicts:
        return [facts]
    return [
        facts,
        per_claim(SCORE, "label accuracy", pairs, _correct_label),
        per_claim(SCORE, "HoVer score", pairs, lambda p: _correct_label(p) and facts_found(p)),
    ]


def considered(sentences: Sequence[tuple[str, int]], hops: int) -> list[tuple[str, int]]:
    """Return the facts that count for a claim of `hops` hops.

    They are the first two of each of the first ``hops + 1`` documents, documents in the order of
    their first fact.
    """
    kept: dict[str, list[int]] = {}
    for title, number in sentences:
        if title in kept or len(kept) <= hops:
            kept.setdefault(title, []).append(number)
    return [(t, number) for t, numbers in kept.items() for number in numbers[:_PER_DOCUMENT]]


def facts_found(pair: Pair) -> bool:
    """Return whether the facts that count hold one of every gold document."""
    facts = set(considered(pair.sentences, pair.gold.hops)) & set(pair.gold.sentences)
    return _answered(pair) and {title for title, _ in facts} == set(pair.gold.titles)


def _correct_label(pair: Pair) -> bool | None:
    """Whether SUPPORTED or NOT_SUPPORTED is right; without a verdict it is not."""
    if pair.gold.label is None:
        return None
    verdict = pair.answer.verdict if pair.answer else None
    if verdict is None:
        return False
    return (verdict is Verdict.SUPPORTS) == (pair.gold.label is Label.SUPPORTS)


def _answered(pair: Pair) -> bool:
    return pair.answer is not None
