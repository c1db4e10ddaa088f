"""Stage 1: candidate documents from the claim alone (paper, section 4: BM25 and GENRE).

A text, of a claim or of evidence, also names documents: by title, by alias or by hyperlink.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, zip_longest

from admiral.io.text_cleaning import matching_form_with_offsets
from admiral.kb import KnowledgeBase
from admiral.protocols import Graph, HopRetriever
from admiral.records import Document, DocumentSet, ScoredTitle, Sentence

_WORD = re.compile(r"\w+(?:[-'’.&]\w+)*\.?")
_POSSESSIVE = re.compile(r"['’]s?$")
_QUALIFIER = re.compile(r"\s*\([^()]*\)$")
_MAX_WORDS = 8
#: Number of characters of a text that are searched.
MAX_TEXT = 4096
# Maximum number of titles that add a qualifier: "Alien" may mean "Alien (film)".
_MAX_QUALIFIED = 3
# Single words that are usually capitalised only because they begin a sentence.
_OPENERS = frozenset(
    re.findall(
        r"\w+",
        """
        A After All Although An And As At Before Both But By During Each For From He Her His
        However I In It Its Many Most On One Other She Since Some That The Their There These
        They This Those Through To Two Under Until We When Where While With
        """,
    )
)


@dataclass(frozen=True, slots=True)
class Mention:
    """Characters ``start:end`` of a text that name a document."""

    start: int  # start, end: Character offsets
    end: int
    # The documents that may be meant: the title itself if it exists, then titles that add a
    # parenthesised qualifier.
    titles: tuple[str, ...]


def base_title(title: str) -> str:
    """Return `title` without its parenthesised qualifier: ``Dune (novel)`` -> ``Dune``."""
    return _QUALIFIER.sub("", title) or title


def find_mentions(titles: KnowledgeBase, text: str) -> Iterator[Mention]:
    """Yield the mentions in `text`, left to right, without overlap.

    A mention is the longest word sequence that begins with a capital letter or a digit and equals a
    title, with or without its qualifier. It includes the punctuation that follows if the title
    does. Titles are matched by spelling alone, in the first 4,096 characters of the text and, if it
    differs, of its matching form (`admiral.io.text_cleaning`).
    """
    text = text[:MAX_TEXT]
    mentions = list(_mentions_in(titles, text))
    form, offsets = matching_form_with_offsets(text)
    if form != text:
        for mention in _mentions_in(titles, form):
            start, end = offsets[mention.start], offsets[mention.end]
            if not any(each.start < end and start < each.end for each in mentions):
                mentions.append(Mention(start, end, mention.titles))
        mentions.sort(key=lambda mention: mention.start)
    yield from mentions


def _mentions_in(titles: KnowledgeBase, text: str) -> Iterator[Mention]:
    words = list(_WORD.finditer(text))
    position = 0
    while position < len(words):
        first = text[words[position].start()]
        if not (first.isupper() or first.isdigit()):
            position += 1
            continue
        length, mention = _longest(titles, text, words[position : position + _MAX_WORDS])
        if mention is not None:
            yield mention
        position += max(length, 1)


def _longest(
    titles: KnowledgeBase, text: str, words: Sequence[re.Match[str]]
) -> tuple[int, Mention | None]:
    start = words[0].start()
    for length in range(_max_words(titles, text, words), 0, -1):
        end = words[length - 1].end()
        bare = text[start:end].removesuffix(".")
        if length == 1 and (bare in _OPENERS or bare.isdigit()):
            continue
        ends = range(_end_with_punctuation(titles, text, start, end), end - 1, -1)
        for name in dict.fromkeys(
            (*(text[start:e] for e in ends), bare, _POSSESSIVE.sub("", bare))
        ):
            if named := _titles_named(titles, name):
                return length, Mention(start, start + len(name), named)
    return 0, None


def _max_words(titles: KnowledgeBase, text: str, words: Sequence[re.Match[str]]) -> int:
    for length in range(1, len(words)):
        if next(titles.complete(text[words[0].start() : words[length].start() + 1]), None) is None:
            return length
    return len(words)


def _end_with_punctuation(titles: KnowledgeBase, text: str, start: int, end: int) -> int:
    """Return the largest end that a mention with the following punctuation may have.

    This covers names such as "Jeopardy!" and spelt-out qualifiers such as "Alien (film)".
    """
    while (mark := text[end : end + 1]) and not mark.isspace() and not _WORD.match(mark):
        if next(titles.complete(text[start : end + 1]), None) is None:
            break
        end += 1
    return end


def _titles_named(titles: KnowledgeBase, name: str) -> tuple[str, ...]:
    row = titles.row(name)
    exact = () if row is None else (titles.title(row),)  # in the spelling of the knowledge base
    qualified = titles.complete(f"{name} (")
    return exact + tuple(title for title, _ in islice(qualified, _MAX_QUALIFIED))


# "--sort" and "$EDITOR" are an option and a variable.
_ALIAS_WORD = re.compile(r"(?<![\w.&$@-])\w+")
# After the name, a word may end in a possessive "s". "printf(3)" and "open()" name something else.
_ALIAS_END = re.compile(r"(?=['’]s?(?!\w))|(?!\w|[-'’.&]\w|\()")


def find_aliases(aliases: KnowledgeBase, text: str) -> Iterator[Mention]:
    """Yield the mentions of documents by alias, left to right, without overlap.

    A mention is the longest alias that begins and ends with a word of the text; only the first
    4,096 characters are searched. Upper and lower case must be those of the alias.
    """
    text = text[:MAX_TEXT].encode("utf-8", "replace").decode("utf-8")  # without lone surrogates
    position = 0
    for word in _ALIAS_WORD.finditer(text):
        start = word.start()
        # Most words begin no alias. No alias ends within a word.
        if start < position or not aliases.has_aliases_with(word.group()):
            continue
        for name, titles in aliases.aliases_beginning(text[start:]):
            if _ALIAS_END.match(text, start + len(name)):
                position = start + len(name)
                yield Mention(start, position, tuple(titles))
                break


# Number of sentences per document that are searched in addition to its evidence sentences.
_MAX_SENTENCES = 16


class TitleMentionFinder:
    """Find the documents of a knowledge base that a text names by title or alias, or links to.

    Names are matched by spelling alone, so a mention is a document worth reading, not a resolved
    entity. An alias inside a title that is mentioned does not count.
    """

    def __init__(self, kb: KnowledgeBase, *, aliases: bool = True) -> None:
        self._kb, self._aliases = kb, aliases

    def in_text(self, text: str) -> list[str]:
        """Return the titles that `text` mentions, in order, each once."""
        return list(dict.fromkeys(self._titles_in(text)))

    def in_evidence(self, evidence: Sequence[Sentence]) -> list[str]:
        """Return the titles that the documents of the evidence mention or link to, each once.

        The mentions of the evidence sentences come first, interleaved: the first mention of every
        sentence, then the second one, and so on. The mentions of the other sentences of these
        documents follow in the same way, because the link to the next document is often found near
        the evidence. A document's own title does not count.
        """
        documents = {s.title: self._kb.document(s.title) for s in evidence}

        @cache  # evidence sentences are usually among the first sentences as well
        def mentioned(title: str, index: int) -> list[str]:
            return self._titles_in_sentence(documents[title], index)

        in_evidence = [mentioned(s.title, s.index) for s in evidence]
        in_documents = [
            [
                other_title
                for index in range(min(len(document.sentences), _MAX_SENTENCES))
                for other_title in mentioned(title, index)
            ]
            for title, document in documents.items()
        ]
        return list(dict.fromkeys([*interleaved(*in_evidence), *interleaved(*in_documents)]))

    def _titles_in_sentence(self, document: Document, index: int) -> list[str]:
        links = document.links[index] if document.links else ()
        rows = (self._kb.row(title) for title in links)
        hyperlinks = [self._kb.title(row) for row in rows if row is not None]
        titles = dict.fromkeys([*hyperlinks, *self._titles_in(document.sentences[index])])
        return [title for title in titles if title != document.title]

    def _titles_in(self, text: str) -> Iterator[str]:
        for mention in find_names(self._kb, text, aliases=self._aliases):
            yield from mention.titles


def find_names(names: KnowledgeBase, text: str, *, aliases: bool = True) -> list[Mention]:
    """Return the mentions by title and, if asked for, by alias, left to right.

    An alias inside a title that is mentioned does not count.
    """
    by_title = list(find_mentions(names, text))
    if not aliases:
        return by_title
    by_alias = (
        mention
        for mention in find_aliases(names, text)
        if not any(t.start <= mention.start and mention.end <= t.end for t in by_title)
    )
    return sorted([*by_title, *by_alias], key=lambda mention: mention.start)


def interleaved(*lists: Sequence[str]) -> list[str]:
    """Return the first item of every list, then every second item, and so on, each item once."""
    rounds = zip_longest(*lists)
    return list(dict.fromkeys(item for turn in rounds for item in turn if item is not None))


# The usual constant of reciprocal rank fusion (Cormack et al., 2009).
_RRF_K = 60
# The assumed probability that a claim is about a document that it mentions. On HoVer's development
# claims, all values from 0.5 to 0.9 work equally well.
_MENTION_PROBABILITY = 0.75
# Number of documents of the graph that vote, and the weight of the first of them.
_GRAPH_DOCUMENTS = 100
_GRAPH_WEIGHT = 1.0


class Bm25FirstStage:
    """Find candidates by BM25 over titles and texts."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb

    def candidates(
        self, claims: Sequence[str], mentions: Sequence[Sequence[str]], k: int
    ) -> list[list[ScoredTitle]]:
        """Return the top-k titles for each claim with their BM25 scores; ignore the mentions."""
        return self._kb.search(claims, k)


class FusedFirstStage:
    """Fuse BM25 with the titles that a claim mentions and the titles generated from it (hop 0).

    Reciprocal rank fusion, extended by probabilities: each document that BM25 returns scores
    ``1 / (60 + rank)``, and each mentioned or generated title adds the score of rank 1 times its
    probability. Titles that the model is unsure about thus hardly change the ranking. With a graph,
    the documents close to the claim vote like those of BM25.

    - `generator`: the hop retriever that generates titles from the claim alone (hop 0); None to
      skip this.
    - `graph`: ranks documents by their proximity to the claim; None to skip this.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        generator: HopRetriever | None = None,
        graph: Graph | None = None,
    ) -> None:
        self._kb, self._generator, self._graph = kb, generator, graph

    def candidates(
        self, claims: Sequence[str], mentions: Sequence[Sequence[str]], k: int
    ) -> list[list[ScoredTitle]]:
        """Return the top-k titles for each claim with their fused scores."""
        rankings = self._kb.search(claims, k)
        generated: Sequence[Sequence[DocumentSet]] = [()] * len(claims)
        if self._generator is not None:
            generated = self._generator.expand(claims, [() for _ in claims], [0] * len(claims))
        close: Sequence[Sequence[str]] = [()] * len(claims)
        if self._graph is not None:
            close = self._graph.rank(claims, [() for _ in claims], _GRAPH_DOCUMENTS)
        return [
            fuse(
                [hit.title for hit in ranking],
                [
                    *((title, _MENTION_PROBABILITY) for title in titles),
                    *((s.titles[-1], math.exp(s.score)) for s in document_sets),
                    *(
                        (title, _GRAPH_WEIGHT * (_RRF_K + 1) / (_RRF_K + r))
                        for r, title in enumerate(in_graph, 1)
                    ),
                ],
            )[:k]
            for ranking, titles, document_sets, in_graph in zip(
                rankings, mentions, generated, close, strict=True
            )
        ]


def fuse(ranking: Sequence[str], probabilities: Iterable[tuple[str, float]]) -> list[ScoredTitle]:
    """Fuse a ranking with (title, probability) pairs; see `FusedFirstStage` for the formula.

    Best first. Ties keep the order in which the titles first occur.
    """
    scores = {title: 1.0 / (_RRF_K + rank) for rank, title in enumerate(ranking, start=1)}
    for title, probability in probabilities:
        scores[title] = scores.get(title, 0.0) + probability / (_RRF_K + 1)
    return [ScoredTitle(t, s) for t, s in sorted(scores.items(), key=lambda item: -item[1])]
