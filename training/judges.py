"""Fit the judges that need no training of the model: the scored proof and the binary classifier.

Run as ``python -m training.judges --judge calibrated --claims TRAIN --dev DEV --kb KB --out FILE``,
for ``admiral retrieve --set judge_weights=FILE``, or with ``--judge classifier --model DIR``, for
``--model DIR --judge classifier``. It takes some minutes on one core. Weights are fitted on the
training claims; the development claims choose the threshold and nothing else. It is set for a high
recall of insufficient evidence: to go on in vain costs a hop, to stop too early the answer.

``--retrieved FORMAT:FILE`` lets `calibrated` learn from evidence that the system finds, too, of
claims of which only the gold documents need be known. That takes a second or two a claim.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import click
import torch
from safetensors.torch import save

from admiral import Admiral
from admiral.config import RetrievalConfig, load_config
from admiral.errors import AdmiralError
from admiral.gold import read_gold
from admiral.io.progress import track_claims
from admiral.kb import KnowledgeBase, locate
from admiral.kb.kb_paths import check_output_path
from admiral.models.checkpoint import Checkpoint, load_checkpoint
from admiral.models.checkpoint_sums import SUMS, write_sums
from admiral.models.heads import SUFFICIENCY_HEAD
from admiral.storage.atomic_files import write_atomically
from admiral.storage.bundled_names import is_bundled
from admiral.storage.output_paths import check_place, keep_apart
from proofs.judges.calibrated import Weights
from proofs.judges.classifier import pooled_states
from proofs.judges.support import SupportFinder
from proofs.lexicons.wordnet import default_lexicon
from training.data.claim_sources import Source, drawn
from training.fitting.fits import fit_head, fit_step_scorer, threshold_of_recall
from training.fitting.retrieved_evidence import retrieved_evidence
from training.fitting.sufficiency import LabelledEvidence, labelled_evidence, own_sentences

# To so many gold claims comes one claim that a single document covers.
_OWN_SHARE = 8


def _insufficient(labelled: Sequence[LabelledEvidence]) -> list[bool]:
    return [not one.sufficient for one in labelled]


def fit_calibrated(
    train: Sequence[LabelledEvidence],
    others: Sequence[LabelledEvidence],
    held: Sequence[LabelledEvidence],
    recall: float,
    seed: int,
) -> Weights:
    """Return the weights of the scored proof; the held claims choose the threshold.

    Of the training claims, sentences become claims of their own; not of the `others`.
    """
    finder = SupportFinder(default_lexicon())
    own = islice(own_sentences(train, seed), len(train) // _OWN_SHARE)
    mixed = [*train, *others, *own]
    fitted = fit_step_scorer(
        [finder.find(one.claim, one.evidence) for one in mixed],
        torch.tensor(_insufficient(mixed), dtype=torch.float32),
        seed,
    )
    highest = [max(fitted.scores(finder.find(one.claim, one.evidence))) for one in held]
    return replace(fitted, threshold=threshold_of_recall(highest, _insufficient(held), recall))


def _found_evidence(
    sources: Sequence[Source], config: RetrievalConfig, limit: int, seed: int
) -> list[LabelledEvidence]:
    """Return the evidence that the system finds for at most `limit` claims of each source."""
    with Admiral.from_pretrained(config=config) as system:
        for source in sources:
            if not drawn([source], system.kb, 1, seed):
                raise AdmiralError(
                    f"{source.path}: {config.kb} holds the gold documents of no claim. Give the "
                    "knowledge base that the claims were annotated on"
                )
        claims = drawn(sources, system.kb, limit, seed)
        answered = track_claims(retrieved_evidence(system, claims, seed), done=0, total=len(claims))
        return list(chain.from_iterable(answered))


def fit_classifier(
    checkpoint: Checkpoint,
    train: Sequence[LabelledEvidence],
    held: Sequence[LabelledEvidence],
    recall: float,
) -> dict[str, torch.Tensor]:
    """Return weight and bias of the classifier's head; the held claims choose the bias."""
    states = [
        pooled_states(
            checkpoint.model,
            checkpoint.tokens,
            [one.claim for one in part],
            [one.evidence for one in part],
        )
        for part in (train, held)
    ]
    weight, _ = fit_head(states[0], 1.0 - torch.tensor(_insufficient(train), dtype=torch.float32))
    scores = (-(states[1] @ weight)).tolist()
    bias = threshold_of_recall(scores, _insufficient(held), recall)
    return {"weight": weight.contiguous(), "bias": torch.tensor(bias)}


@click.command()
@click.option(
    "--judge", required=True, type=click.Choice(["calibrated", "classifier"]), help="What to fit."
)
@click.option("--claims", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--dev", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--kb", default="demo", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="File of the weights of calibrated.")
@click.option(
    "--model", help="Directory of the checkpoint whose encoder classifies; it is added to."
)
@click.option(
    "--recall",
    default=0.92,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of insufficient evidence that the threshold is to tell, on the dev claims.",
)
@click.option(
    "--limit",
    default=2000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Training claims at most.",
)
@click.option(
    "--retrieved",
    multiple=True,
    metavar="FORMAT:FILE",
    help="calibrated: claims with gold documents whose evidence the system finds; repeatable.",
)
@click.option(
    "--retrieved-limit",
    default=200,
    show_default=True,
    type=click.IntRange(min=1),
    help="Claims of each --retrieved at most.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Settings of the runs for --retrieved.",
)
@click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16"]),
    default="fp32",
    show_default=True,
    help="classifier: of the encoder.",
)
@click.option("--seed", default=0, show_default=True)
def main(
    judge: str,
    claims: Path,
    dev: Path,
    kb: str,
    out: Path | None,
    model: str | None,
    recall: float,
    limit: int,
    retrieved: tuple[str, ...],
    retrieved_limit: int,
    settings: tuple[str, ...],
    precision: str,
    seed: int,
) -> None:
    """Fit the judge `calibrated` or `classifier` on claims with gold sentences."""
    wanted = "--out" if judge == "calibrated" else "--model"
    for option, value in (("--out", out), ("--model", model)):
        if (value is not None) != (option == wanted):
            raise click.UsageError(f"--judge {judge} takes {wanted}, and no other of the two.")
    if (retrieved and judge != "calibrated") or (settings and not retrieved):
        option, needed = (
            ("--retrieved", "--judge calibrated") if retrieved else ("--set", "--retrieved")
        )
        raise click.UsageError(f"{option} is of use with {needed} only.")
    if model is not None and is_bundled(model):
        remedy = "Train one, or name the directory of a copy"
        raise click.UsageError(f"--model {model}: the bundled model is not written to. {remedy}.")
    try:
        sources = [Source.parse(one) for one in retrieved]
        # As many hops for every claim: no judge, which is to be fitted, decides what to learn from.
        runs = load_config(None, ["hops=2", "judge=never", *settings, f"kb={kb}"])
        if out is not None:
            check_place(out)
            keep_apart(out, claims, dev, *(one.path for one in sources))
            check_output_path(out, kb)
        with KnowledgeBase.open(locate(kb)) as corpus:
            known = list(read_gold(claims))
            random.Random(seed).shuffle(known)
            del known[limit:]
            train = list(labelled_evidence(corpus, known, seed=seed))
            held = list(labelled_evidence(corpus, read_gold(dev), seed=seed))
            others: list[LabelledEvidence] = []
            if judge == "calibrated":
                # People who give evidence themselves give no sentences that only look like it.
                alone = labelled_evidence(corpus, known, sentences=1, seed=seed)
                others += (one for one in alone if one.evidence)
        for path, cases in ((claims, train), (dev, held)):
            if not cases:
                raise AdmiralError(
                    f"{path}: {kb} holds all gold sentences of no claim. Give the knowledge base "
                    "that the claims were annotated on"
                )
        if out is not None:
            if sources:
                others += _found_evidence(sources, runs, retrieved_limit, seed)
            fitted = fit_calibrated(train, others, held, recall, seed)
            write_atomically(out, [fitted.to_json().encode()])
        elif model is not None:
            dtype = torch.bfloat16 if precision == "bf16" else torch.float32
            checkpoint = load_checkpoint(model, dtype=dtype)
            out = checkpoint.path / SUFFICIENCY_HEAD
            write_atomically(out, [save(fit_classifier(checkpoint, train, held, recall))])
            if (checkpoint.path / SUMS).is_file():
                write_sums(checkpoint.path)
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(
        f"{out}: fitted on {len(train) + len(others):,} cases, threshold of {len(held):,}", err=True
    )


if __name__ == "__main__":
    main()
