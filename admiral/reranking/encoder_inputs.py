"""Encoder inputs of the sentence reranker: a claim and a document, all sentences in one pass.

The layout is ``<s> [task] claim </s> [ title ] chosen sentence </s> ... [ title ] s0 s1 ... </s>``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proofs.generation.source_input import claim_ids, claim_room
from trie import Tokens

# Of the encoder's length, at most these shares for the claim and for what was chosen before.
_CLAIM_SHARE, _CHOSEN_SHARE = 0.4, 0.7


@dataclass(frozen=True, slots=True)
class RerankPass:
    """One encoder input.

    Attributes
    ----------
    ids
        Token ids.
    spans
        For each sentence in it, its number in the document and the tokens ``start:end``.
    """

    ids: list[int]
    spans: list[tuple[int, int, int]]


def length_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group positions by like length, since padding costs as much as text.

    Parameters
    ----------
    lengths
        Tokens of each input.
    budget
        Padded tokens of a batch at most, unless a single input has more.
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        # Sorted, so this one is the longest so far.
        if not batches or lengths[i] * (len(batches[-1]) + 1) > budget:
            batches.append([])
        batches[-1].append(i)
    return batches


def rerank_room(tokens: Tokens, max_length: int) -> int:
    """Return how many tokens of a claim a pass reads."""
    return claim_room(tokens, "rerank", int(max_length * _CLAIM_SHARE))


def rerank_passes(
    tokens: Tokens,
    claim: str,
    chosen: Sequence[tuple[str, str]],
    title: str,
    sentences: Sequence[str],
    max_length: int,
) -> Iterator[RerankPass]:
    """Yield the passes that cover a document: one, or several where it is long.

    `chosen` are the (title, sentence) pairs kept at earlier hops. Empty sentences are passed over:
    they cannot be evidence. A sentence longer than a whole pass is cut.
    """
    head, _ = claim_ids(tokens, "rerank", claim, int(max_length * _CLAIM_SHARE))
    for other, sentence in chosen:
        room = int(max_length * _CHOSEN_SHARE) - len(head)
        extra = _titled(tokens, other) + tokens.encode(sentence)
        if room > 8:
            head += [*extra[: room - 1], tokens.eos]
    head += _titled(tokens, title)[: max(max_length - len(head) - 16, 4)]
    room = max_length - len(head) - 1
    ids = list(head)
    spans: list[tuple[int, int, int]] = []
    for number, sentence in enumerate(sentences):
        body = tokens.encode(sentence)[:room] if sentence.strip() else []
        if not body:
            continue
        if spans and len(ids) + len(body) + 1 > max_length:
            yield RerankPass([*ids, tokens.eos], spans)
            ids, spans = list(head), []
        spans.append((number, len(ids), len(ids) + len(body)))
        ids += body
    if spans:
        yield RerankPass([*ids, tokens.eos], spans)


def _titled(tokens: Tokens, title: str) -> list[int]:
    return [tokens.symbol("["), *tokens.encode(title), tokens.symbol("]")]
