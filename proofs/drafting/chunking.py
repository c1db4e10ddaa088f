"""Chunking: division of a claim into the spans of its proof.

Rules replace a parser, whose models would have to be downloaded. A chunk begins at a preposition,
relative pronoun, conjunction or verb group, and after a comma or a sentence; runs of capitalised
words ("The Lord of the Rings") stay whole.
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
    "became began born brought came contains featuring features follows gave grew held includes "
    "including kept knew led left lies lost made met played plays ran rose sang sat sold spent "
    "spoke stands starred starring stars stood takes taught told took went won wrote"
)
_PARTICIPLES = word_list(
    "built drawn driven given held known led made run seen sold sung taken told won worn written"
)
_CONJUNCTIONS = word_list("and but or nor")
# Words that a chunk should neither end with nor consist of.
_DEPENDENT = STOP_WORDS | NEGATIONS
# Lower-case words that occur inside names.
_CONNECTORS = word_list("of the and for de la le du da van von der den di del & a")


# After these a participle is the end of a verb group, or of a list of participles.
_BEFORE_PARTICIPLES = _AUXILIARIES | _RELATIVES | _CONJUNCTIONS | NEGATIONS
# Words that belong to the preposition after them.
_WITH_PREPOSITION = word_list("according due prior because instead such next close")
# Characters of a word after which a full stop ends a sentence rather than an abbreviation.
_SHORTEST_LAST_WORD = 4


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    text: str

    @property
    def norm(self) -> str:
        return normalise(self.text)

    @property
    def is_capitalised(self) -> bool:
        bare = self.text.lstrip("\"'“‘([«")
        return bool(bare) and (bare[0].isupper() or bare[0].isdigit())

    @property
    def is_number(self) -> bool:
        return self.text[0].isdigit()

    @property
    def ends_clause(self) -> bool:
        return self.text[-1] in ",;:"

    @property
    def ends_sentence(self) -> bool:
        """Whether a sentence may end here; not after initials and short abbreviations."""
        bare = self.text.rstrip("\"'”’)]»")
        is_stop_word = self.norm in _DEPENDENT and bare.islower()
        is_word = len(self.norm) >= _SHORTEST_LAST_WORD or is_stop_word
        return bare[-1:] in (".", "!", "?") and is_word


def chunk(claim: str, *, max_words: int = 7, max_chunks: int = 16) -> list[tuple[int, int]]:
    """Divide a claim into spans of at most `max_words` words.

    `max_words`: longest chunk; exceeded only if `max_chunks` requires it. `max_chunks`: most
    chunks; the shortest neighbours are joined first until there are no more.

    The spans are in order, and begin and end at word boundaries, with only white space between
    them. There is none if the claim has no words.

    Raises `ValueError` if a limit is less than 1.
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
    groups = _attach_dependent(groups, max_words)
    parts = [part for group in groups for part in _split(group, max_words)]
    firsts = _join_shortest([len(part) for part in parts], max_chunks)
    return [
        (parts[first][0].start, parts[end - 1][-1].end)
        for first, end in pairwise([*firsts, len(parts)])
    ]


def _begins_chunk(tokens: list[_Token], at: int, group: list[_Token]) -> bool:
    token, before = tokens[at], tokens[at - 1]
    if before.ends_sentence and token.is_capitalised:
        return True
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if before.ends_clause:
        # "December 28, 1973" and "Paris, Texas" stay whole.
        return not (before.is_capitalised and token.is_capitalised) or (
            before.is_number and not token.is_number
        )
    word = token.norm
    if before.is_capitalised and token.is_capitalised:
        return False
    if _agent(tokens, at) and before.norm not in _BEFORE_PARTICIPLES:
        return not before.norm.endswith("ly")
    if at <= _agent(tokens, at - len(group)):
        return False
    in_name = before.is_capitalised and following is not None and _name_continues(tokens, at)
    if in_name and (word in _CONNECTORS or token.is_capitalised):
        return False
    if word in _AUXILIARIES:
        return before.norm not in _AUXILIARIES | _RELATIVES | {"to"}
    if word in _RELATIVES:
        return before.norm not in _PREPOSITIONS
    if token.is_capitalised:
        return False
    if word in NEGATIONS:
        return before.norm not in _RELATIVES | _AUXILIARIES | _PREPOSITIONS | _CONJUNCTIONS
    if word in _VERBS or (word.endswith("ed") and before.is_capitalised):
        return before.norm not in _RELATIVES | _AUXILIARIES | NEGATIONS
    if word in _CONJUNCTIONS:
        return True
    return word in _PREPOSITIONS and before.norm not in (
        _PREPOSITIONS | _RELATIVES | _WITH_PREPOSITION
    )


def _agent(tokens: list[_Token], at: int) -> int:
    """Return where "by" stands after a participle, or several as in "written and directed by".

    0 if there is none.
    """
    while at + 1 < len(tokens):
        word, following = tokens[at].norm, tokens[at + 1].norm
        if not (word.endswith("ed") or word in _PARTICIPLES) or following not in ("and", "by"):
            break
        if following == "by":
            return at + 1
        at += 2
    return 0


def _name_continues(tokens: list[_Token], at: int) -> bool:
    while at < len(tokens) and tokens[at].norm in _CONNECTORS and not tokens[at].is_capitalised:
        at += 1
    return at < len(tokens) and tokens[at].is_capitalised


def _attach_dependent(groups: list[list[_Token]], max_words: int) -> list[list[_Token]]:
    """Join groups of stop words alone to their successor.

    The last one is joined to its predecessor, as is one after which a clause ends ("is named
    after,").
    Groups with a negation ("is not") are joined whatever the length, since they decide what
    follows. A final one stays alone, since what it denies is omitted ("Harrier is not").
    """
    attached: list[list[_Token]] = []
    for group in groups:
        if len(attached) > 1 and _is_dependent(attached[-1]) and _ends(attached[-1]):
            attached[-2:] = [attached[-2] + attached[-1]]
        if (
            attached
            and _is_dependent(attached[-1])
            and (len(attached[-1]) + len(group) <= max_words or _has_negation(attached[-1]))
        ):
            attached[-1] = attached[-1] + group
        else:
            attached.append(group)
    if len(attached) > 1 and _is_dependent(attached[-1]) and not _has_negation(attached[-1]):
        attached[-2:] = [attached[-2] + attached[-1]]
    return attached


def _ends(group: list[_Token]) -> bool:
    return group[-1].ends_clause or group[-1].ends_sentence


def _is_dependent(group: list[_Token]) -> bool:
    return all(token.norm in _DEPENDENT or not token.norm for token in group)


def _has_negation(group: list[_Token]) -> bool:
    return any(token.norm in NEGATIONS for token in group)


def _split(group: list[_Token], max_words: int) -> list[list[_Token]]:
    parts, begin = [], 0
    while len(group) - begin > max_words:
        end = _split_point(group, begin, max_words)
        parts.append(group[begin:end])
        begin = end
    return [*parts, group[begin:]]


def _split_point(group: list[_Token], begin: int, max_words: int) -> int:
    rest = len(group) - begin
    shortest = max(1, rest - max_words) if rest <= 2 * max_words else max_words // 2 or 1

    def cost(end: int) -> tuple[int, int]:
        in_name = group[end - 1].is_capitalised and group[end].is_capitalised
        dangling = group[end - 1].norm in _DEPENDENT
        return 2 * in_name + dangling, abs(end - begin - min(max_words, rest // 2))

    return min(range(begin + shortest, begin + max_words + 1), key=cost)


def _join_shortest(sizes: list[int], max_groups: int) -> list[int]:
    """Join neighbours, the shortest two first, and return where each group begins.

    A heap of neighbouring pairs and linked lists make this O(n log n) for claims of any length.
    """
    sizes, end = list(sizes), len(sizes)
    previous, following = list(range(-1, end)), list(range(1, end + 1))
    pairs = [(left + right, at) for at, (left, right) in enumerate(pairwise(sizes))]
    heapify(pairs)
    count = end
    while count > max_groups:
        size, at = heappop(pairs)
        right = following[at]
        # Skip pairs that are outdated since one of the two was joined to another group.
        if not sizes[at] or right == end or size != sizes[at] + sizes[right]:
            continue
        sizes[at], sizes[right] = size, 0
        following[at] = following[right]
        previous[following[at]] = at
        count -= 1
        if following[at] < end:
            heappush(pairs, (size + sizes[following[at]], at))
        if previous[at] >= 0:
            heappush(pairs, (sizes[previous[at]] + size, previous[at]))
    return [at for at, size in enumerate(sizes) if size]
