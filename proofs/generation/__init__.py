"""Proof generation: beam search of the seq2seq model, constrained by the proof grammar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from proofs.generation.proof_grammar import ProofGrammar, encode_source, missing_proof_marks
from proofs.logic import SUFFICIENCY_OPERATORS, NatOp
from proofs.logic.proof import Proof, ProofError
from trie import Hypothesis, SafeTokenizer, Seq2Seq, beam_search


class ScoredProof(NamedTuple):
    """A proof and the sum of the natural log probabilities of its tokens."""

    proof: Proof
    score: float


class CoveringProof(NamedTuple):
    """The best proof whose steps all quote the evidence, as far as they can."""

    proof: Proof  # the proof. Its operators are the most probable ones.
    # for each step, the probability of the operator ``#`` among the allowed ones
    independent: tuple[float, ...]
    unquoted: tuple[float, ...]  # for each step, the probability that it quotes nothing
    # for each step, the mean natural log probability of the tokens of its quotation
    quoted: tuple[float, ...]


class ProofGenerator:
    """Generates proofs by constrained beam search (paper, section 3.2).

    Parameters
    ----------
    model
        A seq2seq model trained to prove.
    beam_size
        Number of beams; 5 in the paper (appendix A.2).
    max_length
        Most tokens of a proof. A long claim may take 64 more than twice its own tokens instead, and
        no proof takes more than the model can decode.
    stop_at_independence
        Whether a proof ends at the first step that the evidence does not cover. This is faster when
        only the sufficiency of the evidence is of interest.

    Attributes
    ----------
    max_evidence
        Most sentences of evidence that the tokenizer has identifiers for.

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
        for batch in self._batches(claims, evidence, quote_always=False):
            results = self._decode(batch, self._beam_size)
            for one, hypotheses in zip(batch, results, strict=True):
                proofs[one.at] = [
                    ScoredProof(one.grammar.proof(h.tokens), h.score) for h in hypotheses
                ]
        return proofs

    def cover(
        self, claims: Sequence[str], evidence: Sequence[Sequence[tuple[str, str]]]
    ) -> list[CoveringProof | None]:
        """Return the best proof of each claim whose steps all quote the evidence.

        The most probable proof of all usually quotes nothing, since every token of a quotation
        costs probability. What the model says of the steps of a covering proof shows better whether
        the evidence covers the claim.

        It is None for a claim that has no words or does not fit into the model's decoder.
        """
        proofs: list[CoveringProof | None] = [None for _ in claims]
        for batch in self._batches(claims, evidence, quote_always=True):
            for one, hypotheses in zip(batch, self._decode(batch, 1), strict=True):
                proofs[one.at] = self._measured(one, list(hypotheses[0].tokens))
        return proofs

    def _batches(
        self,
        claims: Sequence[str],
        evidence: Sequence[Sequence[tuple[str, str]]],
        *,
        quote_always: bool,
    ) -> Iterator[list[_Input]]:
        inputs: list[_Input] = []
        for at, (claim, texts) in enumerate(zip(claims, evidence, strict=True)):
            grammar = self._grammar(claim, texts, quote_always)
            if grammar is not None:
                source = encode_source(self._tokens, "prove", claim, texts, self._model.max_source)
                inputs.append(_Input(at, grammar, source.ids))
        for begin in range(0, len(inputs), self._batch_size):
            yield inputs[begin : begin + self._batch_size]

    def _decode(self, batch: Sequence[_Input], beam_size: int) -> list[list[Hypothesis]]:
        return beam_search(
            self._model,
            [one.ids for one in batch],
            [one.grammar for one in batch],
            beam_size=beam_size,
            max_length=max(one.grammar.max_length for one in batch),
        )

    def _measured(self, one: _Input, tokens: list[int]) -> CoveringProof:
        rows = torch.tensor([[[self._model.start, *tokens[:-1]]]])
        with self._model.inference_context():
            logits = self._model.step(self._model.encode([one.ids]), self._model.new_cache(), rows)
        scores = logits[0, 0].float().log_softmax(-1)
        operators = [self._tokens.single_token(operator.value) for operator in self._operators]
        independence = self._operators.index(NatOp.INDEPENDENCE)
        closing = self._tokens.single_token("]")
        independent, unquoted, quoted = [], [], []
        for span in one.grammar.spans(tokens):
            begin = span.quotation + 1
            shares = scores[span.operator, operators].softmax(-1)
            independent.append(float(shares[independence]))
            unquoted.append(float(scores[begin, closing].exp()))
            own = range(begin, span.operator - 1)
            costs = [float(scores[at, tokens[at]]) for at in own]
            quoted.append(sum(costs) / max(len(costs), 1))
        proof = one.grammar.proof(tokens)
        return CoveringProof(proof, tuple(independent), tuple(unquoted), tuple(quoted))

    def _grammar(
        self, claim: str, evidence: Sequence[tuple[str, str]], quote_always: bool
    ) -> ProofGrammar | None:
        max_length = max(self._max_length, 2 * len(self._tokens.encode(claim)) + 64)
        try:
            return ProofGrammar(
                self._tokens,
                claim,
                evidence,
                max_length=min(max_length, self._model.max_target),
                operators=self._operators,
                stop_at_independence=self.stop_at_independence and not quote_always,
                quote_always=quote_always,
            )
        except ProofError:
            return None


class _Input(NamedTuple):
    at: int
    grammar: ProofGrammar
    ids: list[int]
