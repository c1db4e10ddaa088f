"""Verdicts on given evidence: how often verifiers are right, by data set, side by side.

Run as ``python -m benchmarks.verdicts --data DATA --kb KB --verifier DIR``. The sets are:

- ``contrast``, ``verdict-kinds``, ``own``: true and false claims on one evidence; ``own`` are about
  bundled documents, among distractors. Of pairs the table also has the share with both right;
- ``fever``, ``hover``, ``feverous``, ``fool-me-twice``: claims with their gold sentences;
- ``vitaminc``, ``paws``, ``tabfact``: pairs of texts; ``cg2c-doc``: with and without what they say;
- ``wice``: claims of Wikipedia with all sentences of the page that they cite, where ``area`` is
  that of supported claims over partly supported and unsupported ones.

``--judge`` asks the judge `verifier`, as retrieval does, in place of the verifier itself.
``--errors N`` prints the most confident errors.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from sklearn.metrics import roc_auc_score

from admiral.config import RetrievalConfig, load_config
from admiral.gold import Label
from admiral.io.claims import evenly_spaced
from admiral.kb import KnowledgeBase, locate
from admiral.models.verifiers import open_configured_verifier, open_verifier
from admiral.requirements import verifier_directory
from admiral.retrieval.stage_assembly import build_judge
from proofs.logic import Verdict
from proofs.verifier import LABELS, Sentence
from training.data.claim_sources import Source
from training.data.evidence_corpora import (
    Corpus,
    GivenDocuments,
    gold_sentences,
    holds_gold,
    with_documents,
)
from training.data.evidence_examples import LABELS as CLAIM_LABELS
from training.data.inference_examples import read_inference_examples
from training.verification.example_program import calibration_error

_OWN = Path(__file__).parent / "own_pairs.jsonl"
_BATCH = 16


@dataclass(frozen=True, slots=True)
class Item:
    """A claim with sentences of evidence, its label, and the pair or group that it belongs to."""

    claim: str
    evidence: tuple[Sentence, ...]
    label: str
    group: str = ""
    kind: str = ""


def _pairs(path: Path) -> Iterator[Item]:
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        label = CLAIM_LABELS[Label.parse(record["verdict"])]
        evidence = tuple((title, text) for title, text in record["evidence"])
        yield Item(record["claim"], evidence, label, record["id"][:-1], record["kind"])


def _gold(source: str, corpus: Corpus) -> Iterator[Item]:
    for item in Source.parse(source).claims():
        claim, own = item.claim, GivenDocuments(item.passages) if item.passages else corpus
        if claim.label is not None and holds_gold(own, claim):
            yield Item(claim.claim, tuple(gold_sentences(claim, own)), CLAIM_LABELS[claim.label])


def _inference(path: Path) -> Iterator[Item]:
    for one in read_inference_examples(path):
        yield Item(one.claim, one.evidence, one.label, one.group)


def _wice(path: Path) -> Iterator[Item]:
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        label = "entailment" if record["label"] == "supported" else "not_entailment"
        yield Item(record["claim"], tuple(("", text) for text in record["evidence"]), label)


def items(name: str, data: Path, corpus: Corpus) -> Iterator[Item]:
    """Yield the items of a set."""
    readers: dict[str, Callable[[], Iterator[Item]]] = {
        "contrast": lambda: _pairs(data / "contrast/pairs.dev.jsonl"),
        "verdict-kinds": lambda: _pairs(data / "verdict-kinds/pairs.dev.jsonl"),
        "own": lambda: _pairs(_OWN),
        # The knowledge base numbers the sentences of these pages otherwise.
        "fever": lambda: _inference(data / "nli/fever.dev.jsonl.gz"),
        "hover": lambda: _gold(f"gold:{data}/hover/claims.dev.jsonl", corpus),
        "feverous": lambda: _gold(
            f"gold:{data}/feverous/claims.dev.jsonl",
            with_documents(corpus, [data / "feverous/pages.jsonl"]),
        ),
        "fool-me-twice": lambda: _gold(
            f"fool-me-twice:{data}/fool-me-twice/claims.dev.jsonl", corpus
        ),
        "vitaminc": lambda: _inference(data / "nli2/vitaminc.dev.jsonl.gz"),
        "paws": lambda: _inference(data / "nli2/paws.dev.jsonl.gz"),
        "tabfact": lambda: _inference(data / "nli2/tabfact.dev.jsonl.gz"),
        "cg2c-doc": lambda: _inference(data / "nli3/cg2c-doc.dev.jsonl.gz"),
        "wice": lambda: _wice(data / "wice/claims.dev.jsonl"),
    }
    return readers[name]()


SETS = (
    *("contrast", "verdict-kinds", "own", "fever", "hover", "feverous", "fool-me-twice"),
    *("vitaminc", "paws", "tabfact", "cg2c-doc", "wice"),
)


def decisions(
    given: Sequence[Item], probabilities: np.ndarray
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the label found for each claim, its probability, and whether it is right."""
    found = [LABELS[column] for column in probabilities.argmax(1)]
    confidence = probabilities.max(1)
    if any(item.label == "not_entailment" for item in given):
        confidence = np.maximum(probabilities[:, 0], 1 - probabilities[:, 0])
        found = ["entailment" if p >= 0.5 else "not_entailment" for p in probabilities[:, 0]]
    right = np.array([f == item.label for f, item in zip(found, given, strict=True)])
    return found, confidence, right


def measured(given: Sequence[Item], probabilities: np.ndarray) -> list[str]:
    """Return accuracy, area, calibration error, right pairs and shares of verdicts as cells."""
    found, confidence, right = decisions(given, probabilities)
    binary = "not_entailment" in {item.label for item in given}
    supported = np.array([item.label == "entailment" for item in given])
    scores = probabilities[:, 0] if binary else probabilities[:, 0] - probabilities[:, 2]
    decided = np.array([item.label != "neutral" for item in given])
    both = len({*supported[decided].tolist()}) == 2
    area = roc_auc_score(supported[decided], scores[decided]) if both else None
    groups: defaultdict[str, list[bool]] = defaultdict(list)
    for item, is_right in zip(given, right, strict=True):
        if item.group:
            groups[item.group].append(bool(is_right))
    whole = [all(own) for own in groups.values() if len(own) > 1]
    shares = Counter(found)
    return [
        f"{len(given):,}",
        f"{right.mean():.3f}",
        "–" if area is None else f"{area:.3f}",
        f"{calibration_error(confidence, right):.3f}",
        f"{sum(whole)}/{len(whole)}" if whole else "–",
        ", ".join(f"{shares[name] / len(given):.2f}" for name in LABELS if shares[name]),
    ]


def errors(given: Sequence[Item], probabilities: np.ndarray, count: int) -> Iterator[str]:
    """Yield the most confident errors."""
    order = np.argsort(-probabilities.max(1), kind="stable")
    for at in order:
        found = LABELS[probabilities[at].argmax()]
        item = given[at]
        wrong = found == "entailment" if item.label == "not_entailment" else found != item.label
        if wrong and count:
            count -= 1
            head = f"{item.kind or item.group or ''} {item.label} as {found}"
            yield f"- {head.strip()} {probabilities[at].max():.2f}: {item.claim}"
            yield from (f"    [{title}] {text[:300]}" for title, text in item.evidence[:6])


@click.command()
@click.argument("sets", nargs=-1, type=click.Choice(SETS))
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--kb", default="demo", show_default=True, help="Holds the documents of the claims.")
@click.option("--verifier", "verifiers", multiple=True, required=True, help="Name; repeatable.")
@click.option("--judge", is_flag=True, help="Ask the judge with the verifier.")
@click.option("--no-exact", is_flag=True, help="Ask the model without exact reasoning beside it.")
@click.option("--limit", default=150, show_default=True, help="Claims of a set; 0 for all.")
@click.option("--errors", "n_errors", default=0, help="Errors to print of each set.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
def main(
    sets: tuple[str, ...],
    data: Path,
    kb: str,
    verifiers: tuple[str, ...],
    judge: bool,
    no_exact: bool,
    limit: int,
    n_errors: int,
    settings: tuple[str, ...],
) -> None:
    """Print how often verdicts are right, by set."""
    click.echo("| set | verifier | claims | accuracy | area | error | both right | verdicts | ms |")
    click.echo("|---|---|---|---|---|---|---|---|---|")
    with KnowledgeBase.open(locate(kb)) as opened:
        of_set = {
            name: evenly_spaced(list(items(name, data, opened)), limit) for name in sets or SETS
        }
    for verifier in verifiers:
        config = load_config(None, [f"verifier={verifier}", *settings])
        predict = _judged(config) if judge else _read(config, exact=not no_exact)
        for name, given in of_set.items():
            began = time.perf_counter()
            table = np.concatenate(
                [predict(given[at : at + _BATCH]) for at in range(0, len(given), _BATCH)]
            )
            milliseconds = 1000 * (time.perf_counter() - began) / len(given)
            cells = [name, verifier, *measured(given, table), f"{milliseconds:.0f}"]
            click.echo(f"| {' | '.join(cells)} |")
            for line in errors(given, table, n_errors):
                click.echo(line)


def _read(config: RetrievalConfig, *, exact: bool) -> Callable[[Sequence[Item]], np.ndarray]:
    if exact:
        verifier = open_configured_verifier(config)
    else:
        verifier = open_verifier(verifier_directory(config.verifier))

    def predict(given: Sequence[Item]) -> np.ndarray:
        readings = verifier.read([i.claim for i in given], [i.evidence for i in given])
        return np.array([reading.labels for reading in readings])

    return predict


def _judged(config: RetrievalConfig) -> Callable[[Sequence[Item]], np.ndarray]:
    judge = build_judge(None, config)
    order = (Verdict.SUPPORTS, Verdict.NOT_ENOUGH_INFO, Verdict.REFUTES)

    def predict(given: Sequence[Item]) -> np.ndarray:
        judgements = judge.judge([i.claim for i in given], [i.evidence for i in given])
        return np.array([[(j.verdicts or {}).get(v, 0.0) for v in order] for j in judgements])

    return predict


if __name__ == "__main__":
    main()
