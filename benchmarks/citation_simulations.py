"""Harder tests for `benchmarks.citation_verification`: spoilt sources, missing words, and more."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from admiral.citations.aggregate import PassageAggregator
from admiral.citations.citation_records import CitedClaim
from admiral.citations.citation_weights import FeatureWeight
from admiral.citations.missing_spans import WORD_FEATURES, word_features
from admiral.citations.mixed_scorer import PARTS
from admiral.citations.open_scorer import WHOLE_WEIGHT
from admiral.citations.source_collections import cut_source
from admiral.citations.verifiers.coverage_verifier import CoverageVerifier
from admiral.citations.verifiers.term_weights import TermWeights
from admiral.citations.wice_records import WICE_LABELS, WiceCitation
from admiral.errors import RecordError
from admiral.evaluation.citation_measures import COMPARISONS, auroc, auroc_interval
from admiral.io.streams import json_objects
from admiral.library.source_records import Passage, Source
from training.citations import RIDGE, TokenClaim, best_passage, fit_missing_words, token_f1
from training.feature_fits import fit_ordinal, linear_score

_HELD_OUT = 300
_LACKS = WORD_FEATURES.index("passage_lacks")

Rows = Sequence[Mapping[str, float]]


def parts_score(row: Mapping[str, float], name: str, whole: float = WHOLE_WEIGHT) -> float:
    return whole * row[name] + (1 - whole) * row[name + PARTS]


def single_verifiers(row: Mapping[str, float]) -> list[str]:
    return [name for name in row if name + PARTS in row]


def without_gold(citation: WiceCitation) -> Source:
    gold = frozenset[int]().union(*citation.gold)
    kept = [text for n, text in enumerate(citation.sentences) if n not in gold]
    return replace(citation.source, text="\n".join(kept))


def halves(source: Source) -> list[Source]:
    """Return two sources, the first and the second half of the lines of a source."""
    lines = source.text.split("\n")
    middle = len(lines) // 2
    parts = (lines[:middle], lines[middle:])
    return [replace(source, text="\n".join(part)) for part in parts if part]


def joint_table(citations: Sequence[WiceCitation], stems: TermWeights) -> list[str]:
    """Return coverage, with parts, of sources cut in two: each half by itself, and together."""
    scorer = PassageAggregator(CoverageVerifier(stems), WHOLE_WEIGHT)
    claims = [each.claim for each in citations]

    def scores(sources: Sequence[Sequence[Passage]]) -> list[float]:
        return [one.score for one in scorer.score_sources(claims, sources)]

    cut = [[cut_source(half) for half in halves(each.source)] for each in citations]
    alone = [scores([own[min(n, len(own) - 1)] for own in cut]) for n in (0, 1)]
    rows = {
        "the whole source": scores([cut_source(each.source) for each in citations]),
        "the better half": list(map(max, *alone)),
        "both halves together": scores([[p for half in own for p in half] for own in cut]),
    }
    labels = [WICE_LABELS.index(each.label) for each in citations]
    lines = [f"| coverage of | {' | '.join(COMPARISONS)} | mean if supported |", "|---" * 5 + "|"]
    for name, own in rows.items():
        cells = []
        for positive, negative in COMPARISONS.values():
            at = [n for n, label in enumerate(labels) if label in positive + negative]
            interval = auroc_interval([own[n] for n in at], [labels[n] in positive for n in at])
            cells.append(f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
        supported = [own[n] for n, label in enumerate(labels) if label == len(WICE_LABELS) - 1]
        mean = sum(supported) / len(supported)
        lines.append(f"| {name} | {' | '.join(cells)} | {mean:.3f} |")
    return lines


def nearest_other(citations: Sequence[WiceCitation], stems: TermWeights) -> dict[str, Source]:
    """Return for each supported claim the source of another page that covers most of it."""
    found = {}
    for each in citations:
        if each.label != WICE_LABELS[-1]:
            continue
        others = [one for one in citations if one.page != each.page]
        sources = [cut_source(one.source, 100, 100) for one in others]
        scores = CoverageVerifier(stems).score([each.claim] * len(others), sources)
        best = max(range(len(others)), key=lambda n: max(scores[n]))
        found[each.claim.id] = others[best].source
    return found


def spoilt_sources(
    citations: Sequence[WiceCitation], stems: TermWeights
) -> dict[str, list[Source]]:
    """Return spoilt sources of the supported claims, by simulation."""
    supported = [each for each in citations if each.label == WICE_LABELS[-1]]
    others = nearest_other(citations, stems)
    return {
        "gold deleted": [without_gold(each) for each in supported],
        "page swapped": [others[each.claim.id] for each in supported],
    }


def simulated_table(
    rows: Rows,
    labels: Sequence[int],
    folds: Sequence[Sequence[int]],
    spoilt: Mapping[str, Rows],
    features: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return how well intact sources of supported claims score above spoilt ones.

    The verifiers of `features` are fitted on other pages than that of the claim.
    """
    known = [n for n, label in enumerate(labels) if label == len(WICE_LABELS) - 1]
    scorers: dict[str, Callable[[int, Mapping[str, float]], float]] = {
        "coverage, max": lambda n, row: row["coverage"]
    }
    for name in single_verifiers(rows[0]):
        scorers[f"{name}, max and parts"] = lambda n, row, name=name: parts_score(row, name)  # type: ignore[misc]
    for name, own in features.items():
        scorers[name] = _fold_scorer(rows, labels, folds, own)
    lines = ["| score | simulation | pairs in order | AUROC | flagged at 10% false alarms |"]
    lines.append("|---|---|---|---|---|")
    for simulation, spoilt_rows in spoilt.items():
        for name, score in scorers.items():
            intact = [score(n, rows[n]) for n in known]
            bad = [score(n, row) for n, row in zip(known, spoilt_rows, strict=True)]
            wins = [(a > b) + 0.5 * (a == b) for a, b in zip(intact, bad, strict=True)]
            area = auroc([*intact, *bad], [True] * len(intact) + [False] * len(bad))
            cut = sorted(intact)[int(0.1 * len(intact))]
            flagged = sum(one < cut for one in bad) / len(bad)
            cells = f"{sum(wins) / len(wins):.3f} | {area:.3f} | {flagged:.3f}"
            lines.append(f"| {name} | {simulation} | {cells} |")
    return lines


def _fold_scorer(
    rows: Rows, labels: Sequence[int], folds: Sequence[Sequence[int]], names: Sequence[str]
) -> Callable[[int, Mapping[str, float]], float]:
    weights: dict[int, Mapping[str, FeatureWeight]] = {}
    for fold in folds:
        held_out = set(fold)
        kept = [n for n in range(len(rows)) if n not in held_out]
        fitted = fit_ordinal([rows[n] for n in kept], [labels[n] for n in kept], names, ridge=RIDGE)
        weights |= dict.fromkeys(fold, fitted)
    return lambda n, row: linear_score(weights[n], row)


def missing_table(
    train: Sequence[TokenClaim], dev: Sequence[TokenClaim], stems: TermWeights
) -> list[str]:
    """Return the token F1 of missing words, beside three baselines."""
    fitted = fit_missing_words(train, stems)
    truth: list[bool] = []
    said: list[bool] = []
    uncovered: list[bool] = []
    for claim in dev:
        passages = cut_source(claim.source)
        best = best_passage(claim.claim, passages, stems)
        truth += claim.unsupported
        said += fitted.marks(claim.claim, claim.words, passages, best)
        features = word_features(claim.claim, claim.words, passages, best)
        uncovered += [bool(row[_LACKS]) for row in features]
    rng = random.Random(0)
    rate = sum(truth) / len(truth)
    lines = ["| marked tokens | F1 |", "|---|---|"]
    for name, marks in (
        ("all", [True] * len(truth)),
        (f"random, {rate:.0%}", [rng.random() < rate for _ in truth]),
        ("not in the best passage", uncovered),
        ("`missing`", said),
    ):
        lines.append(f"| {name} | {token_f1(marks, truth):.3f} |")
    return lines


def read_fool_me_twice(path: Path) -> tuple[list[tuple[CitedClaim, Source]], list[bool]]:
    """Return the last claims of a file with the sentences of their page, and which are supported.

    Gold and other retrieved sentences of the page are the source, in an order that does not tell
    which are gold.
    """
    pairs, supported = [], []
    records = [item for item in json_objects(path) if not isinstance(item, RecordError)]
    for number, record in records[-_HELD_OUT:]:
        evidence = [*record["gold_evidence"], *record["retrieved_evidence"]]
        texts = sorted({" ".join(one["text"].split()) for one in evidence})
        claim = CitedClaim(str(number), record["text"], page=record["wikipedia_page"])
        source = Source(f"urn:fool:{number}", record["wikipedia_page"], "\n".join(texts))
        pairs.append((claim, source))
        supported.append(record["label"] == "SUPPORTS")
    return pairs, supported


def fool_table(
    rows: Rows,
    supported: Sequence[bool],
    fitted_on: Rows,
    labels: Sequence[int],
    features: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return the AUROC of supported over refuted claims, given sentences of the page.

    The verifiers of `features` are fitted on the citations of `fitted_on`.
    """
    lines = ["| score | supported > refuted |", "|---|---|"]
    scores = {"coverage, max": [row["coverage"] for row in rows]}
    for name in single_verifiers(rows[0]):
        scores[f"{name}, max and parts"] = [parts_score(row, name) for row in rows]
    for name, own in features.items():
        weights = fit_ordinal(fitted_on, labels, own, ridge=RIDGE)
        scores[name] = [linear_score(weights, row) for row in rows]
    for name, values in scores.items():
        area = auroc_interval(values, supported)
        lines.append(f"| {name} | {area.value:.3f} [{area.low:.3f}, {area.high:.3f}] |")
    return lines
