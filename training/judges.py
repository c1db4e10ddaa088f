"""Fit the judges: `calibrated`, which needs no trained model, `classifier` and `generated`.

Run as ``python -m training.judges --judge calibrated --claims TRAIN --dev DEV --kb KB --out FILE``,
then use ``admiral retrieve --set judge_weights=FILE``; or with ``--judge classifier --model DIR``,
then use ``--model DIR --judge classifier``, and the same with ``generated``. It takes some minutes
on one core. The training claims fit the weights; the development claims choose the threshold and
nothing else. The threshold keeps a high recall of insufficient evidence, because an unnecessary hop
costs time, but stopping too early costs the answer.

With ``--retrieved FORMAT:FILE``, `calibrated` also learns from evidence that the system selects for
claims with gold documents. That takes one or two seconds per claim.

With a verifier, `calibrated` leaves the decision to it, and scores choose the step that an
insufficient proof lacks.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import click
import torch
from safetensors.torch import save
from torch import nn

from admiral import Admiral
from admiral.config import RetrievalConfig, load_config
from admiral.errors import AdmiralError
from admiral.gold import read_gold
from admiral.io.progress import track_claims
from admiral.kb import KnowledgeBase, locate
from admiral.kb.store import check_outside_folders
from admiral.models.checkpoint import (
    SUFFICIENCY_HEAD,
    SUMS,
    Checkpoint,
    load_checkpoint,
    write_sums,
)
from admiral.requirements import is_bundled
from admiral.storage.atomic_files import check_distinct_paths, check_output_path, write_atomically
from proofs.generation import ProofGenerator
from proofs.judges.calibrated import FEATURES, FeatureExtractor, ProofFeatures, Weights
from proofs.judges.fitted_weights import LinearScore, sigmoid
from proofs.judges.generated import (
    STEP_DECISION,
    STEP_DECISION_FEATURES,
    StepDecision,
    pooled_states,
    step_decision_features,
)
from proofs.lexicons import default_lexicon
from training.command_options import held_out_option, seed_option
from training.data.claim_sources import Source, is_held_out, sample_claims
from training.data.evidence_corpora import (
    SufficiencyExample,
    retrieved_examples,
    sentence_claims,
    sufficiency_examples,
)
from training.feature_fits import FitSettings, fit_binary, fit_linear_head, fit_network, row_mask

# A claim is as insufficient as its worst step. A softer maximum lets all steps learn.
_SHARPNESS = 5.0
_STEP_SCORER = FitSettings(units=16, iterations=150, learning_rate=0.05, ridge=3e-3)
# One claim made from an evidence sentence for this many annotated claims.
_SENTENCE_CLAIM_RATIO = 8


def fit_calibrated(
    train: Sequence[SufficiencyExample],
    more: Sequence[SufficiencyExample],
    dev: Sequence[SufficiencyExample],
    recall: float,
    seed: int,
) -> Weights:
    """Fit the judge `calibrated`, which scores the steps of a proof.

    `more`: further training examples, whose sentences do not become claims. `recall`: share of the
    insufficient `dev` examples that must score above the threshold.
    """
    extractor = FeatureExtractor(default_lexicon())
    extra = islice(sentence_claims(train, seed), len(train) // _SENTENCE_CLAIM_RATIO)
    examples = [*train, *more, *extra]
    features = [extractor.extract(example.claim, example.evidence) for example in examples]
    dev_features = [extractor.extract(e.claim, e.evidence) for e in dev]
    insufficient = torch.tensor(_insufficient(examples), dtype=torch.float32)
    weights = fit_step_scorer(features, insufficient, seed)
    scores = [max(weights.scores(each)) for each in dev_features]
    threshold = threshold_at_recall(scores, _insufficient(dev), recall)
    return replace(weights, threshold=threshold)


def fit_step_scorer(
    supports: Sequence[ProofFeatures], insufficient: torch.Tensor, seed: int = 0
) -> Weights:
    """Fit the network of step scores by the logistic loss of each claim's highest step.

    `insufficient`: 1 for insufficient evidence, else 0; float32, (claims,).

    The result has the threshold at which a claim is as likely to be insufficient as not.
    """
    rows = [
        torch.tensor([(*support.claim, *step) for step in support.steps]) for support in supports
    ]
    steps = row_mask(rows)

    def loss(scores: torch.Tensor) -> torch.Tensor:
        masked = scores.masked_fill(~steps, -1e4)
        highest = torch.logsumexp(_SHARPNESS * masked, 1) / _SHARPNESS
        return nn.functional.binary_cross_entropy_with_logits(highest, insufficient)

    units, offset = fit_network(rows, FEATURES, loss, _STEP_SCORER, seed=seed, with_offset=True)
    return Weights(units, -offset)


def threshold_at_recall(scores: Sequence[float], positive: Sequence[bool], recall: float) -> float:
    """Return the highest threshold at which recall is at least `recall`.

    The threshold lies halfway between two scores, or below all of them.

    `scores`, `positive`: score and label of each example; at least one is positive. `recall`: share
    of the positive examples that must score above the threshold.
    """
    count = max(math.ceil(recall * sum(positive) - 1e-9), 1)
    positive_scores = (s for s, is_positive in zip(scores, positive, strict=True) if is_positive)
    lowest = sorted(positive_scores, reverse=True)[count - 1]
    next_lower = max((s for s in scores if s < lowest), default=lowest - 1.0)
    return (lowest + next_lower) / 2


def _insufficient(examples: Sequence[SufficiencyExample]) -> list[bool]:
    return [not example.sufficient for example in examples]


def fit_classifier(
    checkpoint: Checkpoint,
    train: Sequence[SufficiencyExample],
    dev: Sequence[SufficiencyExample],
    recall: float,
) -> dict[str, torch.Tensor]:
    """Fit the head of the judge `classifier` on the states of a checkpoint's encoder.

    `recall`: share of the insufficient `dev` examples that must be classified as insufficient.

    The result has ``weight``, (width,), and ``bias``, a scalar.
    """
    train_states, dev_states = (
        pooled_states(
            checkpoint.model,
            checkpoint.tokens,
            [example.claim for example in examples],
            [example.evidence for example in examples],
        )
        for examples in (train, dev)
    )
    weight, _ = fit_linear_head(train_states, [example.sufficient for example in train])
    scores = (-(dev_states @ weight)).tolist()
    bias = threshold_at_recall(scores, [not example.sufficient for example in dev], recall)
    return {"weight": weight.contiguous(), "bias": torch.tensor(bias)}


def fit_step_decision(
    checkpoint: Checkpoint,
    train: Sequence[SufficiencyExample],
    dev: Sequence[SufficiencyExample],
    recall: float,
) -> StepDecision:
    """Fit the probability that evidence is sufficient, and choose its threshold.

    `checkpoint`: the checkpoint that writes the proofs. It should not have been trained on the
    claims. `recall`: share of the insufficient `dev` examples that must be judged insufficient.

    Raises `AdmiralError` if no proof of a training or development example can be decoded, or the
    checkpoint writes no proofs.
    """
    try:
        generator = ProofGenerator(checkpoint.model, checkpoint.tokens)
    except ValueError as error:
        raise AdmiralError(f"{checkpoint.path}: cannot write proofs ({error})") from error
    rows, sufficient = _rows(generator, train)
    dev_rows, dev_sufficient = _rows(generator, dev)
    if not rows or not any(not label for label in dev_sufficient):
        raise AdmiralError("no proof of the claims can be decoded; give shorter claims")
    log_odds = LinearScore(*fit_binary(rows, sufficient, STEP_DECISION_FEATURES))
    doubts = [1 - sigmoid(log_odds(row)) for row in dev_rows]
    doubt = threshold_at_recall(doubts, [not label for label in dev_sufficient], recall)
    return StepDecision(log_odds, min(max(1 - doubt, 0.0), 1.0))


def _rows(
    generator: ProofGenerator, examples: Sequence[SufficiencyExample]
) -> tuple[list[Mapping[str, float]], list[bool]]:
    """Return the features and labels of the examples that a proof can be decoded of."""
    usable = [example for example in examples if example.evidence]
    proofs = generator.cover(
        [example.claim for example in usable], [example.evidence for example in usable]
    )
    pairs = [
        (step_decision_features(p), e.sufficient) for p, e in zip(proofs, usable, strict=True) if p
    ]
    return [row for row, _ in pairs], [label for _, label in pairs]


def _retrieved(
    sources: Sequence[Source], config: RetrievalConfig, limit: int, seed: int
) -> list[SufficiencyExample]:
    """Return examples of the evidence selected for at most `limit` claims of each source."""
    with Admiral.from_pretrained(config=config) as system:
        for source in sources:
            if not sample_claims([source], system.kb, 1, seed):
                raise AdmiralError(
                    f"{source.path}: {config.kb} holds the gold documents of no claim. Give the "
                    "knowledge base that the claims were annotated on"
                )
        claims = sample_claims(sources, system.kb, limit, seed)
        by_claim = retrieved_examples(system, claims, seed)
        return list(chain.from_iterable(track_claims(by_claim, done=0, total=len(claims))))


@click.command()
@click.option(
    "--judge",
    required=True,
    type=click.Choice(["calibrated", "classifier", "generated"]),
    help="What to fit.",
)
@click.option("--claims", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--dev", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--kb", default="demo", show_default=True)
@click.option(
    "--out", type=click.Path(path_type=Path), help="calibrated: file of the fitted weights."
)
@click.option(
    "--model", help="classifier, generated: checkpoint directory, to which the fit is added."
)
@click.option(
    "--recall",
    default=0.92,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of insufficient evidence that the judge must detect on the dev claims.",
)
@click.option(
    "--limit",
    default=2000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum number of training claims.",
)
@click.option(
    "--retrieved",
    multiple=True,
    metavar="FORMAT:FILE",
    help="calibrated: claims with gold documents, to learn from retrieved evidence; repeatable.",
)
@click.option(
    "--retrieved-limit",
    default=200,
    show_default=True,
    type=click.IntRange(min=1),
    help="Maximum number of claims of each --retrieved.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Retrieval settings for --retrieved.",
)
@held_out_option
@click.option(
    "--precision",
    type=click.Choice(["fp32", "bf16"]),
    default="fp32",
    show_default=True,
    help="Precision of the encoder of the classifier.",
)
@seed_option
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
    held_out: float | None,
    precision: str,
    seed: int,
) -> None:
    """Fit a judge on claims with gold sentences."""
    wanted = "--out" if judge == "calibrated" else "--model"
    for option, value in (("--out", out), ("--model", model)):
        if (value is not None) != (option == wanted):
            raise click.UsageError(f"--judge {judge} takes {wanted}, not the other one.")
    if (retrieved and judge != "calibrated") or (settings and not retrieved):
        option, needed = (
            ("--retrieved", "--judge calibrated") if retrieved else ("--set", "--retrieved")
        )
        raise click.UsageError(f"{option} works only with {needed}.")
    if held_out is not None and judge != "generated":
        raise click.UsageError("--held-out works only with --judge generated.")
    if model is not None and is_bundled(model):
        remedy = "Train one, or name the directory of a copy"
        raise click.UsageError(f"--model {model}: the bundled model cannot be changed. {remedy}.")
    try:
        sources = [Source.parse(text) for text in retrieved]
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        # The same number of hops for every claim, whatever the judge to be fitted would decide.
        config = load_config(None, ["hops=2", "judge=never", *settings, f"kb={kb}"])
        if out is not None:
            check_output_path(out)
            check_distinct_paths(out, claims, dev, *(source.path for source in sources))
            check_outside_folders(out, kb)
        with KnowledgeBase.open(locate(kb)) as corpus:
            train_claims = list(read_gold(claims))
            if judge == "generated" and held_out is not None:
                train_claims = [one for one in train_claims if is_held_out(one.claim, held_out)]
            random.Random(seed).shuffle(train_claims)
            del train_claims[limit:]
            train = list(sufficiency_examples(corpus, train_claims, seed=seed))
            dev_examples = list(sufficiency_examples(corpus, read_gold(dev), seed=seed))
            more: list[SufficiencyExample] = []
            if judge == "calibrated":
                # Evidence that people provide themselves has no distractors.
                bare = sufficiency_examples(corpus, train_claims, sentences=1, seed=seed)
                more += (example for example in bare if example.evidence)
        for path, examples in ((claims, train), (dev, dev_examples)):
            if not examples:
                raise AdmiralError(
                    f"{path}: {kb} holds all gold sentences of no claim. Give the knowledge base "
                    "that the claims were annotated on"
                )
        if out is not None:
            if sources:
                more += _retrieved(sources, config, retrieved_limit, seed)
            weights = fit_calibrated(train, more, dev_examples, recall, seed)
            write_atomically(out, [weights.to_json().encode()])
        elif model is not None:
            checkpoint = load_checkpoint(model, dtype=dtype)
            if judge == "classifier":
                out = checkpoint.path / SUFFICIENCY_HEAD
                content = save(fit_classifier(checkpoint, train, dev_examples, recall))
            else:
                out = checkpoint.path / STEP_DECISION
                decision = fit_step_decision(checkpoint, train, dev_examples, recall)
                content = decision.to_json().encode()
            write_atomically(out, [content])
            if (checkpoint.path / SUMS).is_file():
                write_sums(checkpoint.path)
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(
        f"{out}: fitted on {len(train) + len(more):,} examples, threshold chosen on "
        f"{len(dev_examples):,}",
        err=True,
    )


if __name__ == "__main__":
    main()
