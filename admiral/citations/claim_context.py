"""Claims in context: with the title of the page, the section, and the sentences before them.

The order and the truncation are those of SIDE (Petroni et al., 2023). Only where the whole is too
long, the title and the section are cut at their end, to a fifth of the limit each, and then the
sentences before the claim at their beginning, so that what is next to the claim stays. The claim is
cut last, at its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from admiral.citations.citation_records import CitedClaim
from admiral.io.sentence_splitter import split_sentences

#: What is read beside the claim: nothing; or the title of the page, the section, and the sentence
#: before or all of them.
ContextForm = Literal["claim", "sentence", "all"]
#: Longest text of a claim in context, in tokens of the model that reads it.
MAX_CONTEXT_TOKENS = 128
# Share of the limit that the title and the section keep of a text that is too long.
_SHARE = 5

#: Number of tokens of a word.
WordCost = Callable[[str], int]


def claim_in_context(
    claim: CitedClaim,
    form: ContextForm,
    *,
    max_tokens: int = MAX_CONTEXT_TOKENS,
    cost: WordCost = lambda word: 1,
) -> str:
    """Return the text of a claim in context.

    `max_tokens`: longest text, in tokens; the last word of the claim is always kept, even if it is
    longer by itself. `cost`: number of tokens of a word.
    """
    title, section, before, words = [], [], [], claim.claim.split()
    if form != "claim":
        sentences = split_sentences(claim.before)
        title, section = claim.page.split(), " ".join(claim.section).split()
        before = " ".join(sentences if form == "all" else sentences[-1:]).split()
    if sum(map(cost, [*title, *section, *before, *words])) > max_tokens:
        words = _fitting(reversed(words), max_tokens, cost)[::-1] or words[-1:]
        room = max_tokens - sum(map(cost, words))
        title = _fitting(title, min(max_tokens // _SHARE, room), cost)
        room -= sum(map(cost, title))
        section = _fitting(section, min(max_tokens // _SHARE, room), cost)
        room -= sum(map(cost, section))
        before = _fitting(reversed(before), room, cost)[::-1]
    # A colon ends a title or a heading, as in the texts that sentence encoders see elsewhere.
    heads = [f"{' '.join(head)}:" for head in (title, section) if head]
    return " ".join([*heads, *before, *words])


def _fitting(words: Iterable[str], limit: int, cost: WordCost) -> list[str]:
    kept: list[str] = []
    for word in words:
        limit -= cost(word)
        if limit < 0:
            break
        kept.append(word)
    return kept
