"""The input of models for a claim in context: title, section, sentences before it, and the claim.

The order and the truncation are those of SIDE (Petroni et al., 2023). Only where the whole is too
long, the title and the section are cut at their end, to a fifth of the limit each, and then the
sentences before the claim at their beginning, so that what is next to the claim stays. The claim is
cut last, at its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from admiral.citations.citation_records import CitedClaim
from admiral.io.sentence_splitter import split_sentences

#: How much of the context is read; each form contains the one before it.
ContextForm = Literal["claim", "title", "section", "sentence", "all"]
CONTEXT_FORMS: tuple[ContextForm, ...] = get_args(ContextForm)
#: Longest text of a claim in context, in tokens of the model that reads it.
MAX_CONTEXT_TOKENS = 128
# Share of the limit that the title and the section keep of a text that is too long.
_SHARE = 5

#: Number of tokens of a word.
WordCost = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class ContextPieces:
    """The pieces of a claim in context; empty where they are not read or unknown."""

    title: str
    section: str
    before: str
    claim: str


def context_pieces(claim: CitedClaim, form: ContextForm) -> ContextPieces:
    """Return the pieces of a claim that a form of the context reads, with single spaces."""
    depth = CONTEXT_FORMS.index(form)
    before = ""
    if depth >= CONTEXT_FORMS.index("sentence"):
        sentences = split_sentences(claim.before)
        before = " ".join(sentences if form == "all" else sentences[-1:])
    return ContextPieces(
        _one_line(claim.page) if depth >= CONTEXT_FORMS.index("title") else "",
        _one_line(" ".join(claim.section)) if depth >= CONTEXT_FORMS.index("section") else "",
        _one_line(before),
        _one_line(claim.claim),
    )


def claim_in_context(
    claim: CitedClaim,
    form: ContextForm,
    *,
    max_tokens: int = MAX_CONTEXT_TOKENS,
    cost: WordCost | None = None,
) -> str:
    """Return the text of a claim in context.

    `max_tokens`: longest text, in tokens. `cost`: number of tokens of a word; one by default.
    """
    pieces = context_pieces(claim, form)
    words = (piece.split() for piece in (pieces.title, pieces.section, pieces.before, pieces.claim))
    kept = fit_pieces(*words, limit=max_tokens, cost=cost or _one)
    # A colon ends a title or a heading, as in the texts that sentence encoders see elsewhere.
    heads = [f"{' '.join(head)}:" for head in kept[:2] if head]
    return " ".join([*heads, *kept[2], *kept[3]])


def fit_pieces(
    title: Sequence[str],
    section: Sequence[str],
    before: Sequence[str],
    claim: Sequence[str],
    *,
    limit: int,
    cost: WordCost,
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Cut the words of the pieces so that they have at most `limit` tokens together.

    The last word of the claim is always kept, even if it is longer than the limit by itself.
    """
    pieces = [list(title), list(section), list(before), list(claim)]
    if sum(_cost(piece, cost) for piece in pieces) <= limit:
        return pieces[0], pieces[1], pieces[2], pieces[3]
    claim_words = _last(pieces[3], limit, cost)
    room = limit - _cost(claim_words, cost)
    share = limit // _SHARE
    title_words = _first(pieces[0], min(share, max(room, 0)), cost)
    room -= _cost(title_words, cost)
    section_words = _first(pieces[1], min(share, max(room, 0)), cost)
    room -= _cost(section_words, cost)
    before_words = _last(pieces[2], room, cost) if room > 0 else []
    if _cost(before_words, cost) > max(room, 0):  # its last word alone is too long
        before_words = []
    return title_words, section_words, before_words, claim_words


def _first(words: Sequence[str], limit: int, cost: WordCost) -> list[str]:
    kept: list[str] = []
    for word in words:
        limit -= cost(word)
        if limit < 0:
            break
        kept.append(word)
    return kept


def _last(words: Sequence[str], limit: int, cost: WordCost) -> list[str]:
    """Return as many of the last words as fit, and at least one."""
    begin = len(words)
    for at in range(len(words) - 1, -1, -1):
        limit -= cost(words[at])
        if limit < 0 and begin < len(words):
            break
        begin = at
        if limit < 0:
            break
    return list(words[begin:])


def _cost(words: Sequence[str], cost: WordCost) -> int:
    return sum(map(cost, words))


def _one(_: str) -> int:
    return 1


def _one_line(text: str) -> str:
    return " ".join(text.split())
