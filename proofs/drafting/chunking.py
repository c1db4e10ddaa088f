"""Dividing a claim into the spans that its proof takes one by one.

Rules instead of a parser, since a parser's models would have to be downloaded: a chunk begins at a
preposition, a relative pronoun, a conjunction or a verb group, and behind a comma; runs of
capitalised words ("The Lord of the Rings") stay whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

from proofs.logic.words import NEGATIONS, STOP_WORDS, normalise, word_list, word_spans

_PREPOSITIONS = word_list(
    "about above after against along among around as at before behind below beside between beyond "
    "by despite down during for from in inside into like near off on onto outside over per since "
    "through throughout to toward towards under until upon via with within without"
)
_RELATIVES = word_list("that which who whom whose where when while because although though if")
_AUXILIARIES = word_list(
    "is are was were be been being am has have had does do did will would can could may might must "
    "shall should isn't wasn't aren't weren't doesn't didn't don't"
)
_VERBS = word_list(
    "became began born brought came contains features follows gave grew held includes kept knew "
    "led left lies lost made met played plays ran rose sang sat sold spent spoke stands starred "
    "stars stood takes taught told took went won wrote"
)
_CONJUNCTIONS = word_list("and but or nor")
# Words that a chunk should neither end with nor be made of.
_DEPENDENT = STOP_WORDS | NEGATIONS
# Lower-case words that occur inside names.
_CONNECTORS = word_list("of the and for de la le du da van von der den di del & a")


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    text: str

    @property
    def norm(self) -> str:
        return normalise(self.text)

    @property
    def capital(self) -> bool:
        bare = self.text.lstrip("\"'“‘([«")
        return bool(bare) and (bare[0].isupper() or bare[0].isdigit())

    @property
    def number(self) -> bool:
        return self.text[0].isdigit()

    @property
    def pauses(self) -> bool:
        return self.text[-1] in ",;:"


def chunk(claim: str, *, max_words: int = 7, max_chunks: int = 16) -> list[tuple[int, int]]:
    """Divide a claim into spans of about `max_words` words.

    Parameters
    ----------
    claim
        Any text.
    max_words
        Longest chunk wanted; exceeded only where `max_chunks` asks for it.
    max_chunks
        Most chunks returned; neighbours are joined, shortest first, until they are few enough.

    Returns
    -------
    list of (start, end)
        Characters of `claim`, in order. The spans begin and end at words, and white space alone
        lies between them. Empty if the claim has no words.
    """
    if max_words < 1 or max_chunks < 1:
        raise ValueError(f"max_words {max_words} and max_chunks {max_chunks} must be at least 1")
    tokens = [_Token(start, end, claim[start:end]) for start, end in word_spans(claim)]
    groups: list[list[_Token]] = []
    for at, token in enumerate(tokens):
        if groups and not _begins_chunk(tokens, at, groups[-1]):
            groups[-1].append(token)
        else:
            groups.append([token])
    split = [part for group in _joined(groups, max_words) for part in _split(group, max_words)]
    firsts = _firsts([len(part) for part in split], max_chunks)
    return [
        (split[first][0].start, split[end - 1][-1].end)
        for first, end in pairwise([*firsts, len(split)])
    ]


def _begins_chunk(tokens: list[_Token], at: int, group: list[_Token]) -> bool:
    """Whether the word at `at` opens a new chunk behind the words of `group`."""
    token, before = tokens[at], tokens[at - 1]
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if before.pauses:
        # "December 28, 1973" and "Paris, Texas" stay whole.
        return not (before.capital and token.capital) or (before.number and not token.number)
    word = token.norm
    if before.capital and token.capital:
        return False
    in_name = before.capital and following is not None and _name_goes_on(tokens, at)
    if in_name and (word in _CONNECTORS or token.capital):
        return False
    if word in _AUXILIARIES:
        return before.norm not in _AUXILIARIES and before.norm not in _RELATIVES
    if word in _RELATIVES:
        return before.norm not in _PREPOSITIONS
    if token.capital:
        return False
    if word in _VERBS or (word.endswith("ed") and before.capital):
        return before.norm not in _RELATIVES and before.norm not in _AUXILIARIES
    if word in _CONJUNCTIONS:
        return True
    return word in _PREPOSITIONS and before.norm not in _PREPOSITIONS | _RELATIVES


def _name_goes_on(tokens: list[_Token], at: int) -> bool:
    """Whether connectors from `at` on lead to another capitalised word."""
    while at < len(tokens) and tokens[at].norm in _CONNECTORS and not tokens[at].capital:
        at += 1
    return at < len(tokens) and tokens[at].capital


def _joined(groups: list[list[_Token]], max_words: int) -> list[list[_Token]]:
    """Join groups of stop words alone to their successor, the last one to its predecessor.

    So are groups of negations ("is not"), whatever the length, since they decide what follows; the
    last one stays alone, since what it denies is left out ("Harrier is not").
    """
    done: list[list[_Token]] = []
    for group in groups:
        if (
            done
            and _weak(done[-1])
            and (len(done[-1]) + len(group) <= max_words or _negates(done[-1]))
        ):
            done[-1] = done[-1] + group
        else:
            done.append(group)
    if len(done) > 1 and _weak(done[-1]) and not _negates(done[-1]):
        done[-2:] = [done[-2] + done[-1]]
    return done


def _weak(group: list[_Token]) -> bool:
    return all(token.norm in _DEPENDENT or not token.norm for token in group)


def _negates(group: list[_Token]) -> bool:
    return any(token.norm in NEGATIONS for token in group)


def _split(group: list[_Token], max_words: int) -> list[list[_Token]]:
    """Split a group that is too long, outside names where that can be."""
    parts, begin = [], 0
    while len(group) - begin > max_words:
        end = _cut(group, begin, max_words)
        parts.append(group[begin:end])
        begin = end
    return [*parts, group[begin:]]


def _cut(group: list[_Token], begin: int, max_words: int) -> int:
    """Return where the part of a group ends that begins at a word."""
    left = len(group) - begin
    low = max(1, left - max_words) if left <= 2 * max_words else max_words // 2 or 1

    def cost(cut: int) -> tuple[int, int]:
        inside = group[cut - 1].capital and group[cut].capital
        loose = group[cut - 1].norm in _DEPENDENT
        return 2 * inside + loose, abs(cut - begin - min(max_words, left // 2))

    return min(range(begin + low, begin + max_words + 1), key=cost)


def _firsts(sizes: list[int], most: int) -> list[int]:
    """Join neighbours, the shortest two first, until so many are left; return where each begins."""
    sizes, end = list(sizes), len(sizes)
    before, behind = list(range(-1, end)), list(range(1, end + 1))
    pairs = [(one + other, at) for at, (one, other) in enumerate(pairwise(sizes))]
    heapify(pairs)
    left = end
    while left > most:
        size, at = heappop(pairs)
        other = behind[at]
        # A pair of which one has been joined to others since is passed over.
        if not sizes[at] or other == end or size != sizes[at] + sizes[other]:
            continue
        sizes[at], sizes[other] = size, 0
        behind[at] = behind[other]
        before[behind[at]] = at
        left -= 1
        if behind[at] < end:
            heappush(pairs, (size + sizes[behind[at]], at))
        if before[at] >= 0:
            heappush(pairs, (sizes[before[at]] + size, before[at]))
    return [at for at, size in enumerate(sizes) if size]
