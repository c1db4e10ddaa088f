"""Encoder inputs: a claim and its evidence sentences as one sequence of tokens.

The layout is ``<s> [task] [hop] claim </s> [id] [ title ] sentence </s> ...`` (paper, appendix
A.1), without ``<s>`` for models that have none, such as T5. The task token, the hop token and the
identifier before each sentence are present if the checkpoint's vocabulary has them: a small model
copies ``<e1>`` more reliably than it counts sentences, and the hop token is its only clue to the
number of identifiers that the hop grammar requires.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trie.model.safe_tokenizer import SafeTokenizer


@dataclass(frozen=True, slots=True)
class SourceInput:
    """An encoder input."""

    ids: list[int]
    truncated: bool


def max_claim_tokens(tokens: SafeTokenizer, task: str, max_length: int) -> int:
    """Return the most tokens of a claim's text that `encode_claim` fits into `max_length` ids."""
    marks = len(tokens.input_head) + (tokens.task(task) is not None) + 1
    return max(max_length - marks, 0)


def encode_claim(
    tokens: SafeTokenizer, task: str, claim: str, max_length: int, hop: int | None = None
) -> tuple[list[int], bool]:
    """Encode ``<s> [task] [hop] claim </s>``.

    `hop`: the number of identifiers that the output has before its title; None for other tasks.
    """
    head = tokens.input_head
    task_token = tokens.task(task)
    if task_token is not None:
        head.append(task_token)
    hop_token = None if hop is None else tokens.hop(hop)
    if hop_token is not None:
        head.append(hop_token)
    body = tokens.encode(claim)
    max_body = max(max_length - len(head) - 1, 0)
    return head + body[:max_body] + [tokens.eos], len(body) > max_body


def _encode_sentence(
    tokens: SafeTokenizer, position: int, title: str, sentence: str, max_length: int
) -> list[int]:
    """Return ``[id] [ title ] sentence </s>`` in at most `max_length` ids."""
    head = []
    if tokens.task("retrieve") is not None:
        head.append(tokens.identifier(position))
    head.append(tokens.single_token("["))
    body = [*tokens.encode(title), tokens.single_token("]"), *tokens.encode(sentence)]
    max_body = max(max_length - len(head) - 1, 0)
    return head + body[:max_body] + [tokens.eos]


def encode_source(
    tokens: SafeTokenizer,
    task: str,
    claim: str,
    evidence: Sequence[tuple[str, str]],
    max_length: int,
    hop: int | None = None,
) -> SourceInput:
    """Encode a claim and its evidence as one encoder input.

    If not everything fits, the claim may take half of the input and the sentences share the rest:
    long sentences are cut to the same length, short ones stay whole.

    `hop`: the number of identifiers that the output has before its title; None for other tasks.
    """
    claim_length = max_length if not evidence else max_length // 2
    ids, truncated = encode_claim(tokens, task, claim, claim_length, hop)
    sentences = [
        _encode_sentence(tokens, position, title, sentence, max_length)
        for position, (title, sentence) in enumerate(evidence)
    ]
    share = _fair_share([len(s) for s in sentences], max_length - len(ids))
    for sentence in sentences:
        if len(sentence) > share:
            truncated = True
            sentence = [*sentence[: max(share - 1, 0)], tokens.eos][:share]
        ids = ids + sentence
    return SourceInput(ids, truncated)


def _fair_share(lengths: Sequence[int], total: int) -> int:
    """Return the largest cap such that the capped lengths sum to at most `total`."""
    if sum(lengths) <= total:
        return max(lengths, default=0)
    count = len(lengths)
    for length in sorted(lengths):
        if length * count > total:
            break
        total -= length
        count -= 1
    return total // count
