"""Fit the probabilities of verdicts from proofs and a verifier.

Run as ``python -m training.verdicts --weights FILE --verifier DIR --claims CLAIMS --kb KB --results
RESULTS``, where FILE is one that `training.judges` wrote; the fit is added to it. The evidence is
the gold evidence of the claims in the knowledge base, and that of their results, which `admiral
retrieve` wrote. Neither the verifier nor the other weights should have been fitted on the claims.
Then use ``admiral retrieve --set verifier=DIR --set judge_weights=FILE``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import torch

from admiral.errors import AdmiralError
from admiral.gold import Label, read_gold
from admiral.kb import KnowledgeBase, locate
from admiral.storage.atomic_files import write_atomically
from proofs.judges.calibrated import CalibratedJudge
from proofs.judges.verified import VerifiedJudge
from proofs.logic.operators import Verdict
from training.command_options import (
    held_out_option,
    open_verifier,
    read_judge_weights,
    seed_option,
    verifier_option,
)
from training.data.held_out import is_held_out
from training.fitting.verdict_examples import (
    VerdictExample,
    gold_examples,
    retrieved_examples_of_results,
)
from training.fitting.verified_fit import cross_validated_verdicts, fit_verdicts, is_right
from training.loop.model_card import markdown_table
from training.verification.label_measures import calibration_error

_FILE = click.Path(path_type=Path, exists=True)


@click.command()
@click.option("--weights", type=_FILE, required=True, help="File to add the fit to.")
@verifier_option(required=True, help="The verifier.")
@click.option(
    "--claims", multiple=True, type=_FILE, required=True, help="Claims with labels; repeatable."
)
@click.option("--kb", help="Knowledge base, for the gold evidence of the claims.")
@click.option(
    "--results",
    multiple=True,
    type=_FILE,
    help="Results of the claims, for retrieved evidence; repeatable.",
)
@held_out_option
@click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16"]),
    default="fp32",
    show_default=True,
    help="Precision of the verifier.",
)
@seed_option
def main(
    weights: Path,
    verifier: str,
    claims: tuple[Path, ...],
    kb: str | None,
    results: tuple[Path, ...],
    held_out: float | None,
    precision: str,
    seed: int,
) -> None:
    """Fit the probabilities of verdicts, and print their cross-validated accuracy."""
    if kb is None and not results:
        raise click.UsageError("Give --kb for gold evidence, --results for retrieved, or both.")
    try:
        fitted = read_judge_weights("--weights", weights)
        opened = open_verifier(verifier, torch.bfloat16 if precision == "bf16" else torch.float32)
        examples = _examples(claims, kb, results, held_out, seed)
        judge = VerifiedJudge(CalibratedJudge(fitted), opened, fitted)
        texts = [example.claim for example in examples]
        read = judge.read(texts, [example.evidence for example in examples])
        rows = [
            judge.verdict_features(claim, each)
            for claim, each in zip(texts, read, strict=True)
            if each is not None  # every example has evidence
        ]
        labels = [example.label for example in examples]
        verdicts = fit_verdicts(rows, labels)
        predicted = cross_validated_verdicts(rows, labels, texts, seed)
        added = replace(fitted, verdicts=verdicts)
        write_atomically(weights, [added.to_json().encode()])
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    names = ("evidence", "examples", "accuracy", "expected calibration error")
    click.echo("\n".join(markdown_table(names, _table(examples, predicted))))
    click.echo(f"{weights}: fitted on {len(examples):,} examples", err=True)


def _examples(
    claims: Sequence[Path],
    kb: str | None,
    results: Sequence[Path],
    held_out: float | None,
    seed: int,
) -> list[VerdictExample]:
    gold = [claim for path in claims for claim in read_gold(path)]
    if held_out is not None:
        gold = [claim for claim in gold if is_held_out(claim.claim, held_out)]
    examples: list[VerdictExample] = []
    if kb is not None:
        with KnowledgeBase.open(locate(kb)) as corpus:
            own = list(gold_examples(corpus, gold, seed))
        # Every other one without a document, so that the three labels are about equally frequent.
        withheld = [example for example in own if example.label is Label.NOT_ENOUGH_INFO]
        examples += (example for example in own if example.label is not Label.NOT_ENOUGH_INFO)
        examples += withheld[::2]
    by_id = {claim.id: claim for claim in gold}
    for path in results:
        examples += retrieved_examples_of_results(path, by_id)
    if len({example.claim for example in examples}) < 2:
        raise AdmiralError(
            f"{', '.join(map(str, claims))}: fewer than two claims have a label and evidence. Give "
            "the knowledge base that they were annotated on, or results of these claims"
        )
    return examples


def _table(
    examples: Sequence[VerdictExample], predicted: Sequence[dict[Verdict, float]]
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for source in sorted({example.source for example in examples}):
        confidence, right = [], []
        for example, probabilities in zip(examples, predicted, strict=True):
            if example.source == source:
                verdict = max(probabilities, key=probabilities.__getitem__)
                confidence.append(probabilities[verdict])
                right.append(is_right(example.label, verdict))
        error = calibration_error(np.array(confidence), np.array(right))
        rows.append((source, f"{len(right):,}", f"{np.mean(right):.3f}", f"{error:.3f}"))
    return rows


if __name__ == "__main__":
    main()
