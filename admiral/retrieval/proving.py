"""Judge a claim against sentences that are given, without retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import torch

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.io.text_cleaning import clean_text, clean_title
from admiral.models.checkpoint import load_checkpoint
from admiral.models.devices import choose_device, choose_dtype
from admiral.protocols import SufficiencyJudge, max_evidence
from admiral.retrieval.stage_assembly import MODEL_JUDGES, build_judge
from proofs import Judgement


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
    (judgement,) = judge.judge([clean_text(claim)], [pairs])
    return judgement


def _clean_pair(given: tuple[str, str], number: int) -> tuple[str, str]:
    match given:
        case (str(title), str(sentence)):
            return clean_title(title), clean_text(sentence)
    raise AdmiralError(f"evidence {number}: is not a (title, sentence) pair; the title may be ''")
