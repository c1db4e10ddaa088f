"""Proof generation: beam search of the seq2seq model, constrained by the proof grammar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from proofs.generation.proof_grammar import ProofGrammar, missing_proof_marks
from proofs.generation.source_input import encode_source
from proofs.logic.notation import ProofError
from proofs.logic.operators import SUFFICIENCY_OPERATORS, NatOp
from proofs.logic.proof import MAX_STEPS, Proof
from trie import SafeTokenizer, Seq2Seq, beam_search


class ScoredProof(NamedTuple):
    """A proof and the sum of the natural log probabilities of its tokens."""

    proof: Proof
    score: float


class ProofGenerator:
    """Generates proofs by constrained beam search (paper, section 3.2).

    Parameters
    ----------
    model
        A seq2seq model trained to prove.
    tokens
        Its tokenizer.
    beam_size
        Number of beams; 5 in the paper (appendix A.2).
    max_length
        Most tokens of a proof. A long claim may take 64 more than twice its own tokens instead, and
        no proof takes more than the model can decode.
    max_steps
        Most steps of a proof.
    operators
        The operators to allow.
    stop_at_independence
        Whether a proof ends at the first step that the evidence does not cover. This is faster when
        only the sufficiency of the evidence is of interest.
    batch_size
        Number of claims that are decoded together.

    Attributes
    ----------
    max_evidence
        Most sentences of evidence that the tokenizer has identifiers for.
    stop_at_independence
        As given.

    Raises
    ------
    ValueError
        If a number is out of range, or the vocabulary has no tokens for the marks of proofs.
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
        if missing := missing_proof_marks(tokens, operators):
            raise ValueError(f"the vocabulary has no token for {' '.join(missing)}")
        self._model, self._tokens = model, tokens
        self.max_evidence = tokens.max_identifiers
        self._beam_size, self._max_length, self._batch_size = beam_size, max_length, batch_size
        self._max_steps, self._operators = max_steps, tuple(operators)
        self.stop_at_independence = stop_at_independence

    def generate(
        self, claims: Sequence[str], evidence: Sequence[Sequence[tuple[str, str]]]
    ) -> list[list[ScoredProof]]:
        """Return up to `beam_size` proofs for each claim, best first.

        Parameters
        ----------
        claims
            The claims.
        evidence
            For each claim, pairs of title and sentence.

        Returns
        -------
        list of list of ScoredProof
            Empty for a claim that has no words or does not fit into the model's decoder.
        """
        proofs: list[list[ScoredProof]] = [[] for _ in claims]
        grammars: list[tuple[int, ProofGrammar]] = []
        for at, (claim, texts) in enumerate(zip(claims, evidence, strict=True)):
            grammar = self._grammar(claim, texts)
            if grammar is not None:
                grammars.append((at, grammar))
        for begin in range(0, len(grammars), self._batch_size):
            batch = grammars[begin : begin + self._batch_size]
            inputs = [
                encode_source(
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
                proofs[at] = [ScoredProof(grammar.proof(h.tokens), h.score) for h in hypotheses]
        return proofs

    def _grammar(self, claim: str, evidence: Sequence[tuple[str, str]]) -> ProofGrammar | None:
        """Return the grammar of a claim's proofs, or None if no proof of it can be decoded."""
        max_length = max(self._max_length, 2 * len(self._tokens.encode(claim)) + 64)
        try:
            return ProofGrammar(
                self._tokens,
                claim,
                evidence,
                max_length=min(max_length, self._model.max_target),
                max_steps=self._max_steps,
                operators=self._operators,
                stop_at_independence=self.stop_at_independence,
            )
        except ProofError:
            return None
