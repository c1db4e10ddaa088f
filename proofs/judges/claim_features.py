"""Features of a claim and its evidence as a whole, for judges that weight them.

All are counts and shares that a reader can check by hand. They describe how many documents the
claim needs, how the documents of the evidence are linked, and which words of the claim they cover.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from proofs.drafting import DraftStep
from proofs.logic.words import Word, split_words, word_list

_SHARING = word_list("both also same common and")
_CONTRAST = word_list("not other another different more older younger than before after")
_RELATIVE = word_list("who whose which that where")
_NAME_CONNECTORS = word_list("of the de von van la")
_SENTENCE_ENDS = frozenset(".!?")


@dataclass(frozen=True, slots=True)
class ClaimWording:
    """Counts of a claim's words."""

    sharing: int  # words that compare things as alike, such as "both"
    contrast: int  # words that set things apart, such as "another"
    relative: int  # relative pronouns and adverbs, such as "whose"
    definite: int  # definite descriptions: "the" before a word in lower case
    sentences: int  # sentence ends: final marks before a space or the end
    # The normalised words of each name: successive words that begin in upper case, including
    # numbers after the first.
    names: tuple[tuple[str, ...], ...]

    @classmethod
    def count(cls, claim: str) -> ClaimWording:
        """Count the words of a claim."""
        tokens = split_words(claim)
        words = [word for word in tokens if word.norm]
        norms = [word.norm for word in words]
        return cls(
            sum(norm in _SHARING for norm in norms),
            sum(norm in _CONTRAST for norm in norms),
            sum(norm in _RELATIVE for norm in norms),
            sum(
                word.norm == "the" and claim[after.start].islower()
                for word, after in pairwise(words)
            ),
            sum(
                not token.norm
                and claim[token.start] in _SENTENCE_ENDS
                and claim[token.end : token.end + 1] in ("", " ")
                for token in tokens
            ),
            tuple(_names(claim, tokens)),
        )


def _names(claim: str, tokens: list[Word]) -> list[tuple[str, ...]]:
    names: list[tuple[str, ...]] = []
    name: list[str] = []
    connectors: list[str] = []  # part of the name only if it continues after them
    for word in [*tokens, Word(0, 0, 0, "")]:
        initial = claim[word.start : word.end][:1]
        # Names begin in upper case; numbers and caseless scripts may only continue them.
        begins = initial.isupper() and word.is_content
        if begins or (name and word.norm and not initial.islower()):
            name += [*connectors, word.norm]
            connectors = []
        elif name and word.norm in _NAME_CONNECTORS:
            connectors.append(word.norm)
        else:
            if name:
                names.append(tuple(name))
            name, connectors = [], []
    return names


_QUALIFIER = re.compile(r"\s\([^()]*\)$")
_BREAK = ""  # a boundary between texts, which matches no word
# Words before a title that the claim mentions only to describe something else, as in "the director
# of Chinatown" and "the song from Chinatown".
_DESCRIBING = word_list(
    "of in from by at on with for to featuring directed created wrote writer starring behind "
    "called named"
)


@dataclass(frozen=True)  # no slots, since cached_property needs __dict__
class DocumentLinks:
    """The documents of the evidence as a graph."""

    titles: tuple[str, ...]
    # For each document, the normalised words of its title and sentences.
    words: tuple[tuple[str, ...], ...]
    named: tuple[bool, ...]  # for each document, whether the claim contains its title
    # For each document, whether its title follows a preposition or the like in the claim, and so
    # probably describes another document.
    describing: tuple[bool, ...]
    naming: tuple[frozenset[int], ...]  # for each document, the documents that its sentences name
    # For each document, the normalised words of its title without the parenthesis.
    names: tuple[tuple[str, ...], ...]

    @classmethod
    def find(cls, claim: str, evidence: Sequence[tuple[str, str]]) -> DocumentLinks:
        """Find the links in a claim and its evidence, pairs of title and sentence."""
        sentences: dict[str, list[str]] = {}
        for title, sentence in evidence:
            sentences.setdefault(title, []).append(sentence)
        titles = tuple(sentences)
        names = [_norms(_QUALIFIER.sub("", title)) for title in titles]
        bodies = [
            tuple(norm for sentence in sentences[title] for norm in (*_norms(sentence), _BREAK))
            for title in titles
        ]
        words = _norms(claim)
        mentions = [_occurrences(words, name) for name in names]
        return cls(
            titles,
            tuple((*_norms(t), _BREAK, *body) for t, body in zip(titles, bodies, strict=True)),
            tuple(map(bool, mentions)),
            tuple(any(at and words[at - 1] in _DESCRIBING for at in places) for places in mentions),
            tuple(
                frozenset(o for o, name in enumerate(names) if o != at and _occurrences(body, name))
                for at, body in enumerate(bodies)
            ),
            tuple(names),
        )

    @cached_property
    def neighbours(self) -> tuple[frozenset[int], ...]:
        """For each document, the documents that it names or that name it."""
        return tuple(
            named | {other for other, its_named in enumerate(self.naming) if at in its_named}
            for at, named in enumerate(self.naming)
        )

    @property
    def relevant(self) -> frozenset[int]:
        """The documents that the claim names or that have a link."""
        return frozenset(
            at for at in range(len(self.titles)) if self.named[at] or self.neighbours[at]
        )

    @property
    def reached(self) -> frozenset[int]:
        """The documents that the claim names and all that links lead to from there."""
        named = {at for at, is_named in enumerate(self.named) if is_named}
        return frozenset(named.union(*(self._component(at) for at in named)))

    @property
    def largest(self) -> int:
        """The size of the largest connected component; 0 without evidence."""
        return max((len(self._component(at)) for at in range(len(self.titles))), default=0)

    def has_title_like(self, name: Sequence[str]) -> bool:
        """Return whether a title contains a name, given by its normalised words, or vice versa."""
        return any(_occurrences(title, name) or _occurrences(name, title) for title in self.names)

    def _component(self, start: int) -> frozenset[int]:
        component, frontier = {start}, [start]
        while frontier:
            new = self.neighbours[frontier.pop()] - component
            component |= new
            frontier.extend(new)
        return frozenset(component)


def _norms(text: str) -> tuple[str, ...]:
    return tuple(word.norm for word in split_words(text) if word.norm)


def _occurrences(words: Sequence[str], name: Sequence[str]) -> list[int]:
    size = len(name)
    return [
        at
        for at in range(len(words) - size + 1 if size else 0)
        if words[at] == name[0] and tuple(words[at : at + size]) == tuple(name)
    ]


#: The features in the order of the fitted weights. Each is explained where it is computed.
CLAIM_FEATURES = (
    "words",
    "steps",
    "sharing",
    "setting_apart",
    "relative",
    "definite",
    "stops",
    "proper_names",
    "untitled",
    "documents",
    "named",
    "described",
    "described_alone",
    "described_open",
    "links",
    "mutual",
    "between_named",
    "between_unnamed",
    "linked",
    "reached",
    "largest",
    "alone",
    "linked_unnamed",
    "bridges",
    "led",
    "leading",
    "sentences",
    "weakest",
    "second",
    "uncovered",
    "uncovered_by_linked",
    "largest_share",
    "contributing",
    "stray",
)


def claim_features(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    links: DocumentLinks,
    steps: Sequence[DraftStep],
) -> tuple[float, ...]:
    """Return the values of `CLAIM_FEATURES`.

    `steps`: the drafted steps of the claim's proof; at least one.
    """
    values = {
        **_wording_features(claim, links, steps),
        **_mention_features(links),
        **_link_features(evidence, links),
        **_coverage_features(claim, links, steps),
    }
    return tuple(float(values[name]) for name in CLAIM_FEATURES)


def _wording_features(
    claim: str, links: DocumentLinks, steps: Sequence[DraftStep]
) -> dict[str, float]:
    wording = ClaimWording.count(claim)
    return {
        "words": len(claim.split()) / 10,
        "steps": len(steps),
        "sharing": wording.sharing,
        "setting_apart": wording.contrast,
        "relative": wording.relative,
        "definite": wording.definite,
        "stops": wording.sentences,
        "proper_names": len(wording.names),
        # Names that are part of no title of the evidence.
        "untitled": sum(not links.has_title_like(name) for name in wording.names),
    }


def _mention_features(links: DocumentLinks) -> dict[str, float]:
    describing = [at for at, describes in enumerate(links.describing) if describes]
    return {
        "documents": len(links.titles),
        "named": sum(links.named),
        # Titles that describe another document, as in "the director of Chinatown" ...
        "described": len(describing),
        # ... without any link,
        "described_alone": sum(not links.neighbours[at] for at in describing),
        # ... and without a link to a document that the claim does not name.
        "described_open": sum(
            all(links.named[other] for other in links.neighbours[at]) for at in describing
        ),
    }


def _link_features(evidence: Sequence[tuple[str, str]], links: DocumentLinks) -> dict[str, float]:
    named, naming, neighbours = links.named, links.naming, links.neighbours
    pairs = [(a, b) for a, near in enumerate(neighbours) for b in near if a < b]
    reached = {links.titles[at] for at in links.reached}
    unnamed = [at for at, is_named in enumerate(named) if not is_named]
    return {
        # Pairs of documents: linked, linked both ways, both named by the claim, neither named.
        "links": len(pairs),
        "mutual": sum(a in naming[b] and b in naming[a] for a, b in pairs),
        "between_named": sum(named[a] and named[b] for a, b in pairs),
        "between_unnamed": sum(not named[a] and not named[b] for a, b in pairs),
        # Documents with a link, documents reached from the named ones, largest component.
        "linked": sum(map(bool, neighbours)),
        "reached": len(reached),
        "largest": links.largest,
        # Named documents without a link.
        "alone": sum(is_named and not neighbours[at] for at, is_named in enumerate(named)),
        # Documents that the claim does not name: with a link, with a link to a named document, and
        # whose sentences name a named document.
        "linked_unnamed": sum(bool(neighbours[at]) for at in unnamed),
        "bridges": sum(any(named[other] for other in neighbours[at]) for at in unnamed),
        "led": sum(any(named[other] for other in naming[at]) for at in unnamed),
        # Named documents whose sentences name one that the claim does not name.
        "leading": sum(
            is_named and any(not named[other] for other in naming[at])
            for at, is_named in enumerate(named)
        ),
        # Sentences of reached documents.
        "sentences": sum(title in reached for title, _ in evidence),
    }


def _coverage_features(
    claim: str, links: DocumentLinks, steps: Sequence[DraftStep]
) -> dict[str, float]:
    weakest, second, *_ = [*sorted(step.similarity for step in steps), 1.0]
    coverage = WordCoverage.find(claim, links.words)
    exclusive, relevant = coverage.exclusive(), links.relevant
    return {
        # The lowest and the second lowest similarity of a step.
        "weakest": weakest,
        "second": second,
        # Content words of the claim in no document, and in no named or linked document.
        "uncovered": coverage.missing(range(len(links.titles))),
        "uncovered_by_linked": coverage.missing(relevant),
        "largest_share": coverage.largest_share,
        # Documents with words that no other has, and such words of irrelevant documents.
        "contributing": len(exclusive),
        "stray": sum(count for at, count in exclusive.items() if at not in relevant),
    }


@dataclass(frozen=True, slots=True)
class WordCoverage:
    """The documents in which each content word of a claim occurs, compared by spelling."""

    # For each content word of the claim, the documents that contain it.
    documents: tuple[frozenset[int], ...]

    @classmethod
    def find(cls, claim: str, texts: Sequence[Sequence[str]]) -> WordCoverage:
        """Find the claim's words in documents, each given by its normalised words."""
        vocabularies = [frozenset(words) for words in texts]
        return cls(
            tuple(
                frozenset(at for at, words in enumerate(vocabularies) if word.norm in words)
                for word in split_words(claim)
                if word.is_content
            )
        )

    def missing(self, documents: Collection[int]) -> int:
        """Return the number of words that none of the given documents contains."""
        return sum(not any(at in documents for at in holders) for holders in self.documents)

    @property
    def largest_share(self) -> float:
        """The largest share of the words that any one document contains."""
        every = frozenset[int]().union(*self.documents)
        counts = [sum(at in holders for holders in self.documents) for at in every]
        return max(counts, default=0) / max(len(self.documents), 1)

    def exclusive(self) -> dict[int, int]:
        """Return the number of words that only this document contains, if any, by document."""
        counts: dict[int, int] = {}
        for holders in self.documents:
            if len(holders) == 1:
                (at,) = holders
                counts[at] = counts.get(at, 0) + 1
        return counts
