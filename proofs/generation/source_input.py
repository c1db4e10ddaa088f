"""The encoder's input: claim and evidence sentences, put together token by token.

The layout is ``<s> [task] [hop] claim </s> [id] [ title ] sentence </s> ...`` (paper, appendix
A.1). The task token, the hop token and the identifier in front of each sentence are present where
the checkpoint's vocabulary has tokens for them: a small model points at ``<e1>`` more surely than
it counts, and how many identifiers the hop grammar forces it to write it cannot know otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trie.model.safe_tokenizer import SafeTokenizer


@dataclass(frozen=True, slots=True)
class SourceInput:
    """Encoder input and whether text had to be cut to fit the model."""

    ids: list[int]
    cut: bool


def claim_room(tokens: SafeTokenizer, task: str, limit: int) -> int:
    """Return how many tokens of a claim there are in the `limit` ids that `claim_ids` returns."""
    return max(limit - 2 - (tokens.task(task) is not None), 0)


def claim_ids(
    tokens: SafeTokenizer, task: str, claim: str, limit: int, hop: int | None = None
) -> tuple[list[int], bool]:
    """Return ``<s> [task] [hop] claim </s>`` in at most `limit` ids and whether it was cut.

    `hop` is the number of documents that the output names before its title; None for other tasks.
    """
    head = [tokens.bos]
    marker = tokens.task(task)
    if marker is not None:
        head.append(marker)
    number = None if hop is None else tokens.hop(hop)
    if number is not None:
        head.append(number)
    body = tokens.encode(claim)
    room = max(limit - len(head) - 1, 0)
    return head + body[:room] + [tokens.eos], len(body) > room


def evidence_ids(
    tokens: SafeTokenizer, position: int, title: str, sentence: str, limit: int
) -> tuple[list[int], bool]:
    """Return ``[id] [ title ] sentence </s>`` in at most `limit` ids and whether it was cut."""
    head = []
    if tokens.task("retrieve") is not None:
        head.append(tokens.identifier(position))
    head.append(tokens.single_token("["))
    body = [*tokens.encode(title), tokens.single_token("]"), *tokens.encode(sentence)]
    room = max(limit - len(head) - 1, 0)
    return head + body[:room] + [tokens.eos], len(body) > room


def evidence_input(
    tokens: SafeTokenizer,
    task: str,
    claim: str,
    evidence: Sequence[tuple[str, str]],
    max_length: int,
    hop: int | None = None,
) -> SourceInput:
    """Put a claim and its evidence, (title, sentence) pairs, into one encoder input.

    `hop` is that of `claim_ids`. Where everything does not fit, the claim may take half of the
    room and the sentences share the rest: each long one is cut to the same length, short ones stay
    whole.
    """
    half = max_length if not evidence else max_length // 2
    ids, cut = claim_ids(tokens, task, claim, half, hop)
    sentences = [
        evidence_ids(tokens, position, title, sentence, max_length)[0]
        for position, (title, sentence) in enumerate(evidence)
    ]
    share = _fair_share([len(s) for s in sentences], max_length - len(ids))
    for sentence in sentences:
        if len(sentence) > share:
            cut = True
            sentence = [*sentence[: max(share - 1, 0)], tokens.eos][:share]
        ids = ids + sentence
    return SourceInput(ids, cut)


def _fair_share(lengths: Sequence[int], room: int) -> int:
    """Return the largest cap such that the capped lengths sum to at most `room`."""
    if sum(lengths) <= room:
        return max(lengths, default=0)
    left = len(lengths)
    for length in sorted(lengths):
        if length * left > room:
            break
        room -= length
        left -= 1
    return room // left
