"""Stage 2: score sentences by a cross-encoder with a token-level head.

It reads a claim and all sentences of a document at once:
``<s> [task] claim </s> [ title ] chosen sentence </s> ... [ title ] s0 s1 ... </s>``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from admiral.errors import AdmiralError
from admiral.models.checkpoint import Checkpoint
from admiral.models.heads import RerankHead
from admiral.records import Document, Sentence
from admiral.retrieval.evidence import best_first
from admiral.retrieval.mean_pooling import batch_by_length
from admiral.stage_timing import timed
from proofs.generation.source_input import encode_claim, max_claim_tokens
from trie import SafeTokenizer

# Maximum shares of the encoder's length: for the claim, and for the claim with chosen sentences.
_CLAIM_SHARE, _CHOSEN_SHARE = 0.4, 0.7


@dataclass(frozen=True, slots=True)
class RerankerInput:
    """One encoder input.

    Attributes
    ----------
    ids
        Token ids.
    spans
        For each sentence, its index in the document and its tokens ``start:end``.
    """

    ids: list[int]
    spans: list[tuple[int, int, int]]


def reranker_claim_limit(tokens: SafeTokenizer, max_length: int) -> int:
    """Return the maximum number of tokens of a claim in an input."""
    return max_claim_tokens(tokens, "rerank", int(max_length * _CLAIM_SHARE))


def reranker_inputs(
    tokens: SafeTokenizer,
    claim: str,
    chosen: Sequence[tuple[str, str]],
    title: str,
    sentences: Sequence[str],
    max_length: int,
) -> Iterator[RerankerInput]:
    """Yield the inputs that cover a document: one, or several if it is long.

    Blank sentences are left out, since they cannot be evidence. A sentence longer than an input is
    cut.

    Parameters
    ----------
    chosen
        (title, sentence) pairs of the evidence chosen at earlier hops.
    """
    head, _ = encode_claim(tokens, "rerank", claim, int(max_length * _CLAIM_SHARE))
    for chosen_title, sentence in chosen:
        room = int(max_length * _CHOSEN_SHARE) - len(head)
        extra = _bracketed(tokens, chosen_title) + tokens.encode(sentence)
        if room > 8:
            head += [*extra[: room - 1], tokens.eos]
    head += _bracketed(tokens, title)[: max(max_length - len(head) - 16, 4)]
    room = max_length - len(head) - 1
    ids = list(head)
    spans: list[tuple[int, int, int]] = []
    for number, sentence in enumerate(sentences):
        body = tokens.encode(sentence)[:room] if sentence.strip() else []
        if not body:
            continue
        if spans and len(ids) + len(body) + 1 > max_length:
            yield RerankerInput([*ids, tokens.eos], spans)
            ids, spans = list(head), []
        spans.append((number, len(ids), len(ids) + len(body)))
        ids += body
    if spans:
        yield RerankerInput([*ids, tokens.eos], spans)


def _bracketed(tokens: SafeTokenizer, title: str) -> list[int]:
    return [tokens.single_token("["), *tokens.encode(title), tokens.single_token("]")]


_MAX_LENGTH = 256


class CrossEncoderReranker:
    """Score all sentences of a document in one encoder pass over claim and document.

    A sentence's score is the mean logit of its tokens.

    Parameters
    ----------
    batch_tokens
        Maximum number of padded tokens in an encoder batch.

    Raises
    ------
    AdmiralError
        If the checkpoint has no rerank head.
    """

    def __init__(self, checkpoint: Checkpoint, *, batch_tokens: int = 8192) -> None:
        if checkpoint.head is None:
            raise AdmiralError(
                f"{checkpoint.path}: the checkpoint has no rerank_head.safetensors; "
                "choose --reranker similarity, or train one with training.joint"
            )
        self._model, self._tokens = checkpoint.model, checkpoint.tokens
        self._head: RerankHead = checkpoint.head
        self._max_length = min(_MAX_LENGTH, checkpoint.model.max_source)
        self._batch_tokens = batch_tokens
        self.claim_limits = {
            "the cross-encoder": reranker_claim_limit(self._tokens, self._max_length)
        }

    @timed("cross_encoder")
    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with logits as scores, best first."""
        inputs: list[tuple[int, Document, RerankerInput]] = []
        for number, claim in enumerate(claims):
            chosen = [(s.title, s.text) for s in evidence[number]]
            for document in documents[number]:
                inputs += [
                    (number, document, encoder_input)
                    for encoder_input in reranker_inputs(
                        self._tokens,
                        claim,
                        chosen,
                        document.title,
                        document.sentences,
                        self._max_length,
                    )
                ]
        results: list[list[Sentence]] = [[] for _ in claims]
        for batch in batch_by_length([len(item.ids) for *_, item in inputs], self._batch_tokens):
            logits = self._logits([inputs[i][2].ids for i in batch])
            for row, i in enumerate(batch):
                number, document, encoder_input = inputs[i]
                for index, start, end in encoder_input.spans:
                    score = float(logits[row, start:end].mean())
                    text = document.sentences[index]
                    results[number].append(Sentence(document.title, index, text, score))
        return [best_first(sentences) for sentences in results]

    @torch.inference_mode()
    def _logits(self, inputs: Sequence[Sequence[int]]) -> torch.Tensor:
        hidden, _ = self._model.run_encoder(inputs)
        logits: torch.Tensor = self._head(hidden.float()).cpu()
        return logits
