"""Proof generation: the seq2seq model writes, the grammar holds the pen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from proofs.generation.proof_grammar import ProofGrammar
from proofs.generation.source_input import evidence_input
from proofs.logic.notation import ProofError
from proofs.logic.operators import SUFFICIENCY_OPERATORS, NatOp
from proofs.logic.proof import MAX_STEPS, Proof
from trie import SafeTokenizer, Seq2Seq, beam_search


class ScoredProof(NamedTuple):
    """A proof and the sum of the natural log probabilities of its tokens."""

    proof: Proof
    score: float


class ProofGenerator:
    """Writes proofs by constrained beam search.

    Parameters
    ----------
    model, tokens
        A seq2seq model trained to prove, and its tokenizer.
    beam_size
        Number of beams; 5 in the paper (appendix A.2).
    max_length
        Most tokens of a proof, wherever the claim leaves room for one of that length: a proof of a
        long claim may take twice its tokens and 64 more. Never more than the model can decode.
    max_steps
        Most steps of a proof.
    operators
        The operators that may be written.
    stop_at_independence
        Stop at the first step that the evidence does not cover: cheaper, for when only the
        decision is wanted. Such a proof ends there.
    batch_size
        Claims that are decoded together.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokens: SafeTokenizer,
        *,
        beam_size: int = 5,
        max_length: int = 256,
        max_steps: int = MAX_STEPS,
        operators: Sequence[NatOp] = SUFFICIENCY_OPERATORS,
        stop_at_independence: bool = False,
        batch_size: int = 8,
    ) -> None:
        if min(beam_size, max_length, max_steps, batch_size) < 1:
            raise ValueError("beam_size, max_length, max_steps and batch_size must be at least 1")
        self._model, self._tokens = model, tokens
        self.max_evidence = tokens.max_identifiers
        self._beam_size, self._max_length, self._batch_size = beam_size, max_length, batch_size
        self._max_steps, self._operators = max_steps, tuple(operators)
        self.stop_at_independence = stop_at_independence

    def generate(
        self, claims: Sequence[str], evidence: Sequence[Sequence[tuple[str, str]]]
    ) -> list[list[ScoredProof]]:
        """Return up to `beam_size` proofs for each claim, best first.

        The list is empty for a claim that has no words or does not fit into the model's decoder.

        Parameters
        ----------
        claims
            The claims.
        evidence
            For each claim, pairs of title and sentence.
        """
        found: list[list[ScoredProof]] = [[] for _ in claims]
        grammars: list[tuple[int, ProofGrammar]] = []
        for at, (claim, texts) in enumerate(zip(claims, evidence, strict=True)):
            grammar = self._grammar(claim, texts)
            if grammar is not None:
                grammars.append((at, grammar))
        for begin in range(0, len(grammars), self._batch_size):
            batch = grammars[begin : begin + self._batch_size]
            inputs = [
                evidence_input(
                    self._tokens, "prove", claims[at], evidence[at], self._model.max_source
                ).ids
                for at, _ in batch
            ]
            results = beam_search(
                self._model,
                inputs,
                [grammar for _, grammar in batch],
                beam_size=self._beam_size,
                max_length=max(grammar.max_length for _, grammar in batch),
            )
            for (at, grammar), hypotheses in zip(batch, results, strict=True):
                found[at] = [ScoredProof(grammar.proof(h.tokens), h.score) for h in hypotheses]
        return found

    def _grammar(self, claim: str, evidence: Sequence[tuple[str, str]]) -> ProofGrammar | None:
        """Return the grammar of a claim, None where no proof of it can be decoded."""
        wanted = max(self._max_length, 2 * len(self._tokens.encode(claim)) + 64)
        try:
            return ProofGrammar(
                self._tokens,
                claim,
                evidence,
                # BART's decoder has as many positions as its encoder.
                max_length=min(wanted, self._model.max_source),
                max_steps=self._max_steps,
                operators=self._operators,
                stop_at_independence=self.stop_at_independence,
            )
        except ProofError:
            return None
