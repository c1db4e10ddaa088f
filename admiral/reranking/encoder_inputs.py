"""Encoder inputs of the cross-encoder: a claim and all sentences of a document.

The layout is ``<s> [task] claim </s> [ title ] chosen sentence </s> ... [ title ] s0 s1 ... </s>``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


def batch_by_length(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group inputs of similar length into batches, because padding costs as much as text.

    Parameters
    ----------
    lengths
        Number of tokens of each input.
    budget
        Maximum number of padded tokens in a batch; a longer input is a batch of its own.

    Returns
    -------
    list
        The positions of the inputs in each batch.
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        # Inputs are sorted, so this one is the longest so far.
        if not batches or lengths[i] * (len(batches[-1]) + 1) > budget:
            batches.append([])
        batches[-1].append(i)
    return batches


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
    tokens
        The tokenizer.
    claim
        The claim's text.
    chosen
        (title, sentence) pairs of the evidence chosen at earlier hops.
    title, sentences
        The document.
    max_length
        Maximum number of tokens in an input.
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
