"""Open the verifier of the settings, with what its scores mean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import cast

import torch

from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citation_weights import CitationWeights
from admiral.citations.claim_context import ContextForm
from admiral.citations.coverage_verifier import (
    LEXICAL_FEATURES,
    CascadeVerifier,
    CitationVerifier,
    CoverageVerifier,
    TermWeights,
)
from admiral.citations.model_verifiers import (
    LateInteractionVerifier,
    PairClassifierVerifier,
    ProofVerifier,
    SentenceStates,
    SimilarityVerifier,
)
from admiral.citations.source_reading import SourceReader
from admiral.citations.source_scorers import (
    ENTAILED,
    PARTS,
    MixedScorer,
    PassageAggregator,
    SourceScorer,
)
from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError
from admiral.models.checkpoint import choose_device, choose_dtype
from admiral.models.verifiers import open_named_verifier
from admiral.requirements import MINILM, minilm_directory
from admiral.retrieval.rerankers import MeanPoolingEncoder
from proofs.verifier.reading import Verifier

#: Weight of the whole claim beside its parts.
WHOLE_WEIGHT = 0.5


class VerifierFactory:
    """Makes verifiers that share a sentence encoder."""

    def __init__(self, config: CitationConfig, stems: TermWeights) -> None:
        self._config, self._stems = config, stems
        runtime = RetrievalConfig(device=config.device, precision=config.precision)
        self._device, self._dtype = choose_device(config.device), choose_dtype(runtime)

    def verifier(self, name: str, context: ContextForm = "claim") -> CitationVerifier:
        """Return a verifier by name; all but `coverage` read the best passages only.

        Raises AdmiralError if files of it are missing or damaged.
        """
        coverage = CoverageVerifier(self._stems, context)
        if name == "coverage":
            return coverage
        # The passages are chosen by the claim alone, so that the context changes one thing only.
        cheap = CoverageVerifier(self._stems)
        return CascadeVerifier(cheap, self._close(name, context), self._config.verify_passages)

    def reader(self) -> SourceReader:
        """Return what reads sources with the model in `classifier`."""
        return SourceReader(self._classifier, self._stems)

    def _close(self, name: str, context: ContextForm) -> CitationVerifier:
        if name == "similarity":
            return SimilarityVerifier(self._states, context)
        if name == "late":
            return LateInteractionVerifier(self._states, context)
        if name == "proof":
            return ProofVerifier(context=context)
        return PairClassifierVerifier(self._classifier, context)

    @cached_property
    def _states(self) -> SentenceStates:
        encoder = MeanPoolingEncoder(
            minilm_directory(), MINILM, device=self._device, dtype=self._dtype
        )
        return SentenceStates(encoder)

    @cached_property
    def _classifier(self) -> Verifier:
        name = self._config.classifier
        threads = self._config.threads or len(os.sched_getaffinity(0))
        return open_named_verifier(
            name, "setting 'classifier'", device=self._device, threads=threads
        )


def open_scorer(
    config: CitationConfig, weights: CitationWeights, stems: TermWeights
) -> SourceScorer:
    """Open the verifier of the settings.

    Raises AdmiralError if files of it are missing or damaged.
    """
    if config.threads:
        torch.set_num_threads(config.threads)
    factory = VerifierFactory(config, stems)
    if config.verifier == "mixed":
        names = mixed_verifiers(weights.mixed)
        try:
            verifiers = {name: factory.verifier(name) for name in names}
            reader = factory.reader() if ENTAILED in weights.mixed else None
            return MixedScorer(verifiers, stems, weights.mixed, reader)
        except ValueError as error:
            raise AdmiralError(f"setting 'weights': {error}; fit them anew") from error
    context = cast(ContextForm, config.context)
    whole = 1.0 if config.aggregate == "max" else WHOLE_WEIGHT
    return PassageAggregator(factory.verifier(config.verifier, context), whole)


def mixed_verifiers(features: Mapping[str, object] | Iterable[str]) -> list[str]:
    """Return the verifiers that features are made of; `coverage` comes first."""
    others = (*LEXICAL_FEATURES, ENTAILED)
    names = [name.removesuffix(PARTS) for name in features if name not in others]
    return list(dict.fromkeys(["coverage", *names]))


def open_weights(config: CitationConfig) -> CitationWeights:
    """Return the weights of the settings.

    Raises AdmiralError if the file cannot be used.
    """
    if not config.weights:
        return CitationWeights.bundled()
    try:
        return CitationWeights.read(Path(config.weights))
    except AdmiralError as error:
        raise AdmiralError(f"setting 'weights': {error}") from error
