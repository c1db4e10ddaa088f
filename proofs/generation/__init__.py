"""Proof generation: beam search of the seq2seq model, constrained by the proof grammar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from proofs.generation.proof_grammar import ProofGrammar, encode_source, missing_proof_marks
from proofs.logic import SUFFICIENCY_OPERATORS, NatOp
from proofs.logic.proof import Proof, ProofError
from trie import SafeTokenizer
from trie.beam_decoding import beam_search
from trie.seq2seq import Seq2Seq


class ScoredProof(NamedTuple):
    """A proof and the sum of the natural log probabilities of its tokens."""

    proof: Proof
    score: float


class ProofGenerator:
    """Generates proofs by constrained beam search (paper, section 3.2).

    - `beam_size`: 5 in the paper (appendix A.2).
    - `max_length`: most tokens of a proof. A long claim may take 64 more than twice its own tokens
      instead, and no proof takes more than the model can decode.
    - `stop_at_independence`: whether a proof ends at the first step that the evidence does not
      cover. This is faster when only the sufficiency of the evidence is of interest.

    Raises ValueError if a number is out of range, or the vocabulary lacks the marks of proofs.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokens: SafeTokenizer,
        *,
        beam_size: int = 5,
        max_length: int = 256,
        operators: Sequence[NatOp] = SUFFICIENCY_OPERATORS,
        stop_at_independence: bool = False,
        batch_size: int = 8,
    ) -> None:
        if min(beam_size, max_length, batch_size) < 1:
            raise ValueError("beam_size, max_length and batch_size must be at least 1")
        if missing := missing_proof_marks(tokens, operators):
            raise ValueError(f"the vocabulary has no token for {' '.join(missing)}")
        self._model, self._tokens = model, tokens
        self.max_evidence = tokens.max_identifiers
        self._beam_size, self._max_length, self._batch_size = beam_size, max_length, batch_size
        self._operators = tuple(operators)
        self.stop_at_independence = stop_at_independence

    def generate(
        self, claims: Sequence[str], evidence: Sequence[Sequence[tuple[str, str]]]
    ) -> list[list[ScoredProof]]:
        """Return up to `beam_size` proofs for each claim, best first.

        There is none for a claim that has no words or does not fit into the model's decoder.
        """
        proofs: list[list[ScoredProof]] = [[] for _ in claims]
        inputs: list[tuple[int, ProofGrammar, list[int]]] = []
        for at, (claim, texts) in enumerate(zip(claims, evidence, strict=True)):
            if (grammar := self._grammar(claim, texts)) is not None:
                source = encode_source(self._tokens, "prove", claim, texts, self._model.max_source)
                inputs.append((at, grammar, source.ids))
        for begin in range(0, len(inputs), self._batch_size):
            positions, grammars, sources = zip(
                *inputs[begin : begin + self._batch_size], strict=True
            )
            results = beam_search(
                self._model,
                sources,
                grammars,
                beam_size=self._beam_size,
                max_length=max(grammar.max_length for grammar in grammars),
            )
            for at, grammar, hypotheses in zip(positions, grammars, results, strict=True):
                proofs[at] = [ScoredProof(grammar.proof(h.tokens), h.score) for h in hypotheses]
        return proofs

    def _grammar(self, claim: str, evidence: Sequence[tuple[str, str]]) -> ProofGrammar | None:
        max_length = max(self._max_length, 2 * len(self._tokens.encode(claim)) + 64)
        try:
            return ProofGrammar(
                self._tokens,
                claim,
                evidence,
                max_length=min(max_length, self._model.max_target),
                operators=self._operators,
                stop_at_independence=self.stop_at_independence,
            )
        except ProofError:
            return None
