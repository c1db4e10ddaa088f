"""The judge that the settings name; it also judges claims by given sentences, without retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import torch

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.io.text_cleaning import clean_text, clean_title
from admiral.models.checkpoint import Checkpoint, load_checkpoint
from admiral.models.devices import choose_device, choose_dtype
from admiral.models.heads import load_sufficiency_head
from admiral.models.verifiers import open_configured_verifier
from admiral.protocols import SufficiencyJudge, max_evidence
from proofs import Judgement, NatOp, PairLexicon, SpanLexicon, default_lexicon
from proofs.generation.generator import ProofGenerator
from proofs.judges.calibrated import CalibratedJudge, Weights
from proofs.judges.generated import (
    STEP_DECISION,
    ClassifierJudge,
    GeneratedProofJudge,
    StepDecision,
)
from proofs.judges.judgement import AlwaysSufficient, LexicalJudge, NeverSufficient
from proofs.judges.verifier_judge import VerifierJudge

# Judges that read the checkpoint.
MODEL_JUDGES = ("generated", "classifier")


def build_judge(checkpoint: Checkpoint | None, config: RetrievalConfig) -> SufficiencyJudge:
    """Build the sufficiency judge; only `MODEL_JUDGES` need a checkpoint."""
    match config.judge:
        case "never":
            return NeverSufficient()
        case "always":
            return AlwaysSufficient()
        case "lexical":
            return LexicalJudge(open_lexicon(config))
        case "calibrated":
            lexicon = open_lexicon(config)
            if not config.verifier:
                return CalibratedJudge(judge_weights(config), lexicon)
            verifier = open_configured_verifier(config)
            return VerifierJudge(verifier, lexicon, stop_at=config.stop_at)
    assert checkpoint is not None
    if config.judge == "classifier":
        head = load_sufficiency_head(checkpoint.path, 2 * checkpoint.model.hidden_size)
        return ClassifierJudge(checkpoint.model, checkpoint.tokens, *head)
    try:
        generator = ProofGenerator(
            checkpoint.model, checkpoint.tokens, stop_at_independence=config.early_exit
        )
    except ValueError as error:
        raise AdmiralError(
            f"setting 'judge': {checkpoint.path} cannot write proofs ({error}); "
            "train it with training.prover or training.joint, or choose another judge"
        ) from error
    return GeneratedProofJudge(generator, _step_decision(checkpoint, config))


def _step_decision(checkpoint: Checkpoint, config: RetrievalConfig) -> StepDecision | None:
    """Return the fitted decision of a checkpoint; None if it has none or none is wanted."""
    file = checkpoint.path / STEP_DECISION
    if config.proof_decision == "best-proof" or config.early_exit or not file.is_file():
        return None
    try:
        return StepDecision.read(file)
    except ValueError as error:
        raise AdmiralError(f"setting 'judge': {error}") from error


def open_lexicon(config: RetrievalConfig) -> SpanLexicon:
    """Return the built-in lexicon, followed by the word lists and WordNet if configured.

    Raises
    ------
    AdmiralError
        If a word list cannot be read; the message names the setting, the file and the line.
    """
    word_lists = [
        _read_word_list(key, path, operator)
        for key, path, operator in (
            ("antonyms", config.antonyms, NatOp.NEGATION),
            ("paraphrases", config.paraphrases, NatOp.EQUIVALENCE),
        )
        if path
    ]
    return default_lexicon(*word_lists, wordnet=config.wordnet)


def _read_word_list(key: str, path: str, operator: NatOp) -> PairLexicon:
    try:
        return PairLexicon.read(path, operator)
    except OSError as error:
        raise AdmiralError(f"setting {key!r}: {path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        remedy = "Each line holds words separated by tabs or spaces, in UTF-8"
        raise AdmiralError(f"setting {key!r}: {error}. {remedy}") from error


def judge_weights(config: RetrievalConfig) -> Weights:
    """Read the weights of the judge `calibrated`: of the settings, or bundled.

    Raises
    ------
    AdmiralError
        If the file is not one of weights; the message names the setting, the file and the field.
    """
    if not config.judge_weights:
        return Weights.bundled()
    try:
        return Weights.read(Path(config.judge_weights))
    except ValueError as error:
        raise AdmiralError(f"setting 'judge_weights': {error} with training.judges") from error


def open_judge(config: RetrievalConfig) -> SufficiencyJudge:
    """Open the judge of the settings, and the checkpoint only if the judge reads it.

    Raises
    ------
    AdmiralError
        If a setting is invalid, or the checkpoint or another file is missing or damaged.
    """
    config.validate()
    checkpoint = None
    if config.threads and (config.judge in MODEL_JUDGES or config.verifier):
        torch.set_num_threads(config.threads)
    if config.judge in MODEL_JUDGES:
        checkpoint = load_checkpoint(
            config.model, choose_device(config.device), choose_dtype(config)
        )
    return build_judge(checkpoint, config)


def judge_evidence(
    judge: SufficiencyJudge, claim: str, evidence: Sequence[tuple[str, str]]
) -> Judgement:
    """Judge a claim against (title, sentence) pairs.

    Raises
    ------
    AdmiralError
        If an argument is of another type, or there are more sentences than the judge accepts.
    """
    if not isinstance(claim, str):
        raise AdmiralError(f"claim: is of type {type(claim).__name__}; give a text")
    pairs = list(map(_clean_pair, evidence, count(1)))
    limit = max_evidence(judge)
    if limit is not None and len(pairs) > limit:
        raise AdmiralError(
            f"evidence: {len(pairs)} sentences are too many for this judge; its model has "
            f"tokens to name {limit}, so give {limit} or less"
        )
    text = clean_text(claim)
    (judgement,) = judge.judge([text], [pairs])
    return judgement.located(text, pairs)


def _clean_pair(given: tuple[str, str], number: int) -> tuple[str, str]:
    match given:
        case (str(title), str(sentence)):
            return clean_title(title), clean_text(sentence)
    raise AdmiralError(f"evidence {number}: is not a (title, sentence) pair; the title may be ''")
