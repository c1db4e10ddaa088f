"""The spans of a claim (chunking), and the evidence span that is most similar to each (alignment).

Chunking is by rules, in place of a parser, whose models would have to be downloaded. A chunk begins
at a preposition, relative pronoun, conjunction or verb group, and after a comma or a sentence; runs
of capitalised words ("The Lord of the Rings") stay whole.

Alignment is that of section 3.2 of the paper. A sentence is read together with its title, so a span
may be quoted from either. "An English writer", quoted from "was not an English writer", says the
opposite of its sentence. A quotation is therefore widened backwards, across words such as articles
and auxiliaries, to the negation or quantifier that applies to it. Any other word and any
punctuation stop the search.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise, product
from typing import TYPE_CHECKING

from proofs.lexicons import Phrases, SpanLexicon
from proofs.lexicons.values import QUANTIFIER_WORDS, Quantifier, amount, quantifier, value
from proofs.logic import NatOp
from proofs.logic.proof import QuotableText, quotable_texts
from proofs.logic.words import (
    ALL_PREPOSITIONS,
    AUXILIARIES,
    NEGATIONS,
    STOP_WORDS,
    Word,
    normalise,
    split_words,
    word_list,
    word_spans,
)

if TYPE_CHECKING:  # it needs torch, which lexical alignment does not
    from proofs.drafting.contextual_similarity import ContextualSimilarity

_PREPOSITIONS = ALL_PREPOSITIONS - {"of", "up"}  # those are inside a chunk
_RELATIVES = word_list("that which who whom whose where when while because although though if")
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
_BEFORE_PARTICIPLES = AUXILIARIES | _RELATIVES | _CONJUNCTIONS | NEGATIONS
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
    if word in AUXILIARIES:
        return before.norm not in AUXILIARIES | _RELATIVES | {"to"}
    if word in _RELATIVES:
        return before.norm not in _PREPOSITIONS
    if token.is_capitalised:
        return False
    if word in NEGATIONS:
        return before.norm not in _RELATIVES | AUXILIARIES | _PREPOSITIONS | _CONJUNCTIONS
    if word in _VERBS or (word.endswith("ed") and before.is_capitalised):
        return before.norm not in _RELATIVES | AUXILIARIES | NEGATIONS
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


# Words that may stand between a negation or quantifier and its phrase. Conjunctions and subjects
# are not among them, since they begin another clause.
_BETWEEN = word_list(
    "a an the any of in on at to from by for with as even ever yet his her its their this these "
    "is are was were be been being am has have had do does did will would can could may might must "
    "shall should"
)
_SKIPPED = NEGATIONS | QUANTIFIER_WORDS | _BETWEEN


def is_quantified(norms: Sequence[str]) -> bool:
    """Return whether normalised words have a quantifier or a number to compare evidence with."""
    return quantifier(norms)[0] is not None or amount(norms)[0] is not None


def widen_to_operator(text: QuotableText, first: int, last: int, quantified: bool) -> int:
    """Return the first word of a quotation widened to the negation or quantifier before it.

    `first`, `last`: the words of the quotation. The widened quotation may be quoted, too.
    `quantified`: whether to widen it to quantifiers as well as negations.
    """
    begin = first
    for at in range(first - 1, -1, -1):
        norm = text.words[at].norm
        if last not in text.span_ends(at) or norm not in _SKIPPED:
            break
        if norm in NEGATIONS or (
            quantified and _quantifier(text, at, last) != _quantifier(text, begin, last)
        ):
            begin = at
    return begin


def widen_to_phrases(
    phrases: Phrases, text: QuotableText, first: int, last: int
) -> tuple[int, int]:
    """Return the words of a quotation widened so that it splits no phrase.

    The quotation stays as it is if the widened one may not be quoted.
    """
    begin, end = first, last
    for start, stop, _ in phrases.find([word.norm for word in text.words]):
        if start <= last and first < stop:
            begin, end = min(begin, start), max(end, stop - 1)
    return (begin, end) if end in text.span_ends(begin) else (first, last)


def _quantifier(text: QuotableText, first: int, last: int) -> Quantifier | None:
    return quantifier([word.norm for word in text.words[first : last + 1] if word.norm])[0]


#: Longer claim spans are not aligned: no quotation says as much, and comparing them takes long.
MAX_SPAN_WORDS = 64
# The similarity of two different words, by their relation.
_RELATION_SIMILARITY = {
    NatOp.EQUIVALENCE: 0.9,
    NatOp.FORWARD: 0.7,
    NatOp.NEGATION: 0.5,
    NatOp.REVERSE: 0.4,
    NatOp.ALTERNATION: 0.3,
}
_SAME_PREFIX_SIMILARITY = 0.6
# Weights of claim words: names and values identify, stop words hardly count.
_STOP_WEIGHT, _PLAIN_WEIGHT, _NAME_WEIGHT = 0.03, 1.0, 1.5
# Ties between evidence spans: fewest unmatched words, then shortest, and the title of the previous
# step is preferred.
_UNMATCHED_PENALTY, _LENGTH_PENALTY, _SAME_TITLE_BONUS = 0.02, 0.002, 0.05


@dataclass(frozen=True, slots=True)
class Alignment:
    """An evidence span and its similarity to a claim span."""

    # The quoted text: at most seven words, not stop words alone, including a negation or quantifier
    # that applies to it.
    span: str
    title: str  # the title of the document that it is quoted from
    similarity: float  # from 0 (no word in common) to 1 (every word)


class Aligner:
    """Aligns claim spans with spans of the evidence.

    `claim`: the claim whose spans are aligned; needed for `similarity` only. `similarity`: compares
    words in context. Without it, only words that the lexicon relates are similar.
    """

    def __init__(
        self,
        evidence: Sequence[tuple[str, str]],
        lexicon: SpanLexicon,
        claim: str = "",
        similarity: ContextualSimilarity | None = None,
    ) -> None:
        self._lexicon = lexicon
        self._texts = quotable_texts(evidence)
        # For each text: contextual similarities, (words of the text, words of the claim).
        self._contextual: dict[str, list[list[float]]] = {}
        if similarity is not None:
            texts = [text.text for text in self._texts]
            matrices = similarity.compare(claim, texts)
            self._contextual = {t: m.tolist() for t, m in zip(texts, matrices, strict=True)}
            self._claim_starts = [word.start for word in split_words(claim)]

    def align(
        self, span: str, preferred_title: str | None = None, start: int = 0
    ) -> Alignment | None:
        """Return the evidence span that is most similar to a claim span.

        `preferred_title`: the title to prefer among spans of nearly equal similarity: that of the
        previous step. `start`: the character of the claim at which the span begins; needed for
        contextual similarity.

        Without similar words, the first quotable words of the evidence are found, with similarity
        0; None if nothing can be quoted, or if the span has more than `MAX_SPAN_WORDS` words.
        """
        words = [word for word in split_words(span) if word.norm]
        if len(words) > MAX_SPAN_WORDS:
            return None
        weights = [_weight(word, span) for word in words]
        best: tuple[float, tuple[QuotableText, int, int, float]] | None = None
        for text in self._texts:
            bonus = _SAME_TITLE_BONUS if text.title == preferred_title else 0.0
            matrix = self._word_similarities(text, words, start)
            for first, last, similarity, rank in _candidates(text, words, weights, matrix):
                if best is None or rank + bonus > best[0] + 1e-9:
                    best = rank + bonus, (text, first, last, similarity)
        if best is None:
            return self._dissimilar(preferred_title)
        text, first, last, similarity = best[1]
        first, last = widen_to_phrases(self._lexicon.phrases, text, first, last)
        quantified = is_quantified([word.norm for word in words])
        first = widen_to_operator(text, first, last, quantified)
        return Alignment(text.quote(first, last), text.title, similarity)

    def _word_similarities(
        self, text: QuotableText, words: list[Word], start: int
    ) -> list[list[float]]:
        """Return similarities of shape (words of the text, words of the claim span)."""
        matrix = lexical_similarities(self._lexicon, words, text.words)
        contextual = self._contextual.get(text.text)
        if contextual is None:
            return matrix
        # A span may begin or end inside a word of the claim.
        columns = [max(bisect(self._claim_starts, start + word.start) - 1, 0) for word in words]
        return [
            [
                max(lexical, in_context[column])
                if word.is_content and evidence_word.is_content
                else lexical
                for lexical, word, column in zip(row, words, columns, strict=True)
            ]
            for row, evidence_word, in_context in zip(matrix, text.words, contextual, strict=False)
        ]

    def _dissimilar(self, preferred_title: str | None) -> Alignment | None:
        for text in sorted(self._texts, key=lambda t: t.title != preferred_title):
            for first, word in enumerate(text.words):
                if word.is_content:
                    for last in reversed(list(text.span_ends(first))):
                        return Alignment(text.quote(first, last), text.title, 0.0)
        return None


def _candidates(
    text: QuotableText, words: list[Word], weights: list[float], matrix: list[list[float]]
) -> list[tuple[int, int, float, float]]:
    """Return (first word, last word, similarity, rank) of the evidence spans to choose from."""
    total = sum(weights)
    # Stop words in common say nothing, unless the claim span has no other words.
    informative = [at for at, word in enumerate(words) if word.is_content]
    informative = informative or list(range(len(words)))
    matched = [any(row) for row in matrix]
    spans = []
    for first in (at for at, is_matched in enumerate(matched) if is_matched):
        covered, unmatched, begin = [0.0] * len(words), 0, first
        for last in text.span_ends(first):
            if not matched[last]:
                continue
            for at in range(begin, last + 1):  # the words added since the last candidate
                covered = [max(pair) for pair in zip(covered, matrix[at], strict=True)]
                unmatched += text.words[at].is_content and not matched[at]
            begin = last + 1
            if any(covered[at] for at in informative):
                score = sum(c * w for c, w in zip(covered, weights, strict=True)) / total
                penalty = unmatched * _UNMATCHED_PENALTY + (last - first) * _LENGTH_PENALTY
                spans.append((first, last, score, score - penalty))
    return spans


def _weight(word: Word, span: str) -> float:
    if not word.is_content:
        return _STOP_WEIGHT
    identifies = span[word.start].isupper() or value(word.norm) is not None
    return _NAME_WEIGHT if identifies else _PLAIN_WEIGHT


def lexical_similarities(
    lexicon: SpanLexicon, claim: Sequence[Word], evidence: Sequence[Word]
) -> list[list[float]]:
    """Return the similarities, from 0 to 1, of the words of an evidence text and a claim span.

    Two related phrases, or a phrase and a related word, make all of their words similar.

    The result has the shape (words of the evidence, words of the claim span).
    """
    matrix = [[_similarity(lexicon, word, other) for word in claim] for other in evidence]
    claimed = lexicon.phrases.find([word.norm for word in claim])
    stated = lexicon.phrases.find([word.norm for word in evidence])
    if not claimed and not stated:
        return matrix
    pairs = [
        *product(claimed, [*stated, *_single_words(evidence)]),
        *product(_single_words(claim), stated),
    ]
    for (first, end, phrase), (begin, stop, other) in pairs:
        relation = lexicon.word_relation(phrase, other)
        similarity = _RELATION_SIMILARITY.get(relation, 0.0) if relation is not None else 0.0
        for row in matrix[begin:stop]:
            row[first:end] = [max(similarity, known) for known in row[first:end]]
    return matrix


def _similarity(lexicon: SpanLexicon, claim: Word, evidence: Word) -> float:
    claimed, stated = claim.norm, evidence.norm
    if claimed == stated:
        return 1.0
    if not stated or not claim.is_content or not evidence.is_content:
        return 0.0
    relation = lexicon.word_relation(claimed, stated)
    if relation is not None:
        return _RELATION_SIMILARITY.get(relation, 0.0)
    return _SAME_PREFIX_SIMILARITY if _have_same_prefix(claimed, stated) else 0.0


def _single_words(words: Sequence[Word]) -> list[tuple[int, int, str]]:
    return [(at, at + 1, word.norm) for at, word in enumerate(words) if word.is_content]


def _have_same_prefix(left: str, right: str) -> bool:
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return length >= 5 and 2 * length > max(len(left), len(right)) and value(left) is None
