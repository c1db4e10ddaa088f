"""The search state of a claim: its sentences, evidence and hops."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from admiral.kb import KnowledgeBase
from admiral.kb.bm25 import analysis
from admiral.kb.passages import LONGEST_WHOLE
from admiral.records import (
    SECTION_SEPARATOR,
    Claim,
    Document,
    DocumentSet,
    Hop,
    Proximity,
    ScoredTitle,
    Sentence,
    Stopped,
)
from admiral.retrieval.first_stage import interleaved
from proofs.logic.words import split_words

# First sentence and end of a passage; None is the end of the document.
Span = tuple[int, int | None]
# BM25's saturation of term frequencies and normalisation of lengths, for sentences.
_K1, _B = 0.9, 0.4


class SentenceSelection:
    """The sentences of one document that are read, which can be reduced to the best of them.

    Sentences are ranked by the terms that they share with a claim, each with its inverse document
    frequency (BM25). The headings above a sentence count as part of it: below "Author", a name is
    enough. Ties are broken in favour of earlier sentences, because documents tend to start with
    their subject.
    """

    def __init__(
        self,
        document: Document,
        spans: Sequence[Span],
        weights: Mapping[str, float],
        terms: Callable[[str], Sequence[str]],
    ) -> None:
        self._document, self._weights, self._terms = document, weights, terms
        chosen = {i for start, end in spans for i in range(len(document.sentences))[start:end]}
        self._sentences = [i for i in sorted(chosen) if document.sentences[i].strip()]
        self._whole = len(chosen) == len(document.sentences)

    def __len__(self) -> int:
        return len(self._sentences)

    @property
    def document_length(self) -> int:
        """Number of sentences of the document."""
        return len(self._document.sentences)

    @property
    def characters(self) -> int:
        """Number of characters of the selected sentences."""
        return sum(len(self._document.sentences[i]) for i in self._sentences)

    def keep(self, sentences: int, characters: int | None = None) -> None:
        """Reduce the selection to its best sentences, unless it is small enough.

        The best sentence is kept in any case, however many characters it has.
        """
        if len(self) <= sentences and (characters is None or self.characters <= characters):
            return
        kept: list[int] = []
        total = 0
        for index in self._ranked[:sentences]:
            total += len(self._document.sentences[index])
            if kept and characters is not None and total > characters:
                break
            kept.append(index)
        self._sentences, self._whole = kept, False

    def document(self) -> Document:
        """Return the document with all other sentences blank: rerankers skip these."""
        if self._whole:
            return self._document
        kept = set(self._sentences)
        given = self._document.sentences
        return replace(
            self._document, sentences=tuple(s if i in kept else "" for i, s in enumerate(given))
        )

    @cached_property
    def _ranked(self) -> list[int]:
        """All selected sentences, best first, of which the first are kept."""
        document = self._document
        counts = {i: Counter(self._terms(document.sentences[i])) for i in self._sentences}
        lengths = {i: terms.total() for i, terms in counts.items()}
        mean_length = sum(lengths.values()) / len(lengths) or 1.0
        if document.sections:
            headings = {
                section: self._terms(section.replace(SECTION_SEPARATOR, " "))
                for section in {document.sections[i] for i in self._sentences}
            }
            for i, terms in counts.items():
                terms.update(headings[document.sections[i]])

        def score(i: int) -> float:
            norm = _K1 * (1 - _B + _B * lengths[i] / mean_length)
            shared = self._weights.keys() & counts[i].keys()
            return sum(
                self._weights[t] * counts[i][t] / (counts[i][t] + norm) for t in sorted(shared)
            )

        return sorted(self._sentences, key=lambda i: (-score(i), i))


def share_characters(selections: Sequence[SentenceSelection], characters: int) -> None:
    """Reduce the longest selections until all together have at most `characters` characters.

    Each keeps its best sentence, and up to the same number of characters as the others: selections
    that are shorter stay as they are.
    """
    sizes = sorted(selection.characters for selection in selections)
    if sum(sizes) <= characters:
        return
    left, share = characters, 0
    for number, size in enumerate(sizes):
        share = left // (len(sizes) - number)
        if size > share:
            break
        left -= size
    for selection in selections:
        selection.keep(len(selection), share)


# Number of passages of a document among which its sentences are chosen, at 32 sentences each.
_PASSAGES = 4
# Weight of the terms of the claim, relative to those of the evidence only.
_CLAIM_WEIGHT = 2


class PassageReader:
    """Read the sentences of documents that match a claim and the evidence chosen so far.

    Sentences come from the best passages of a document, by BM25. If a document has too many, those
    that share terms of high inverse document frequency with the claim are taken. So the text that
    rerankers read at a hop is bounded, however long the documents are. Documents that are short
    enough to be indexed as a whole keep all of their sentences, up to `max_sentences`.

    - `max_characters`: maximum number of characters of all long documents of a hop together, in
      proportion to their number among the documents. If they have more, the longest are shortened
      further; each keeps one sentence in any case.
    """

    def __init__(self, kb: KnowledgeBase, max_sentences: int, max_characters: int) -> None:
        self._kb, self._terms = kb, analysis.terms
        self._max_sentences, self._max_characters = max_sentences, max_characters

    def read(
        self,
        claims: Sequence[str],
        evidence: Sequence[Sequence[Sentence]],
        titles: Sequence[Sequence[str]],
    ) -> list[list[Document]]:
        """Return the documents with these titles, the sentences that are not read blank."""
        return [self._read(*each) for each in zip(claims, evidence, titles, strict=True)]

    def _read(
        self, claim: str, evidence: Sequence[Sentence], titles: Sequence[str]
    ) -> list[Document]:
        # A term that a query repeats counts each time.
        query = " ".join([*[claim] * _CLAIM_WEIGHT, *(sentence.text for sentence in evidence)])
        weights = self._kb.inverse_document_frequencies(query)
        weights |= {t: _CLAIM_WEIGHT * weights[t] for t in set(self._terms(claim)) & weights.keys()}
        spans = self._kb.best_passages(query, titles, _PASSAGES)
        selections = [
            SentenceSelection(self._kb.document(title), own, weights, self._terms)
            for title, own in zip(titles, spans, strict=True)
        ]
        for selection in selections:
            selection.keep(self._max_sentences)
        long = [s for s in selections if s.document_length > LONGEST_WHOLE]
        if long:
            share_characters(long, self._max_characters * len(long) // len(selections))
        return [selection.document() for selection in selections]


Key = TypeVar("Key", bound=Hashable)


def non_blank_sentences(documents: Iterable[Document]) -> list[Sentence]:
    """Return the sentences of documents, without blank ones, which cannot be evidence."""
    return [
        Sentence(document.title, index, text)
        for document in documents
        for index, text in enumerate(document.sentences)
        if text.strip()
    ]


def with_scores(sentences: Sequence[Sentence], scores: Iterable[float]) -> list[Sentence]:
    """Return sentences with their scores set, best first."""
    return best_first(replace(s, score=score) for s, score in zip(sentences, scores, strict=True))


def best_first(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Sort sentences by score; ties by title and position."""
    return sorted(sentences, key=lambda s: (-s.score, s.title, s.index))


def best_scores(sentences: Sequence[Sentence]) -> dict[str, float]:
    """Return the score of the best sentence of each document; sentences are given best first."""
    return {s.title: s.score for s in reversed(sentences)}  # the first sentence, the best, wins


def z_scores(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Return z-scores (mean 0, population standard deviation 1); all 0 if the scores are equal."""
    mean = statistics.fmean(scores.values()) if scores else 0.0
    deviation = statistics.pstdev(scores.values()) if scores else 0.0
    return {key: (score - mean) / (deviation or 1.0) for key, score in scores.items()}


# Added to the sentences of mentioned documents, in standard deviations of the claim's scores.
_MENTION_BOOST = 0.6
# Both in standard deviations of the documents' best sentence scores: the weight of one standard
# deviation of relevance, and the penalty for each better sentence of the same document.
_RELEVANCE_WEIGHT = 1.0
_REPETITION_PENALTY = 1.0


def boost_mentioned(scored: Sequence[Sentence], mentioned: Collection[str]) -> list[Sentence]:
    """Raise the scores of sentences whose documents the previous evidence mentions; best first.

    A claim describes such a document only indirectly. Being mentioned by the evidence sets its
    sentences apart from those that merely resemble the claim.
    """
    titles = set(mentioned)
    deviation = statistics.pstdev([s.score for s in scored]) if scored else 0.0
    return best_first(
        replace(s, score=s.score + _MENTION_BOOST * deviation) if s.title in titles else s
        for s in scored
    )


def reweighted(scored: Sequence[Sentence], relevance: Mapping[str, float]) -> list[Sentence]:
    """Combine sentence scores, given best first, with the relevance of their documents.

    A sentence covers only a part of the claim, and many sentences resemble that part; the relevance
    of their documents, on any scale, tells them apart. Each further sentence of a document is
    penalised, to leave room for the documents of the other parts.
    """
    best = best_scores(scored)
    deviation = (statistics.pstdev(best.values()) if best else 0.0) or 1.0
    relevance_z = z_scores({title: relevance[title] for title in best})
    earlier: Counter[str] = Counter()
    sentences = []
    for sentence in scored:
        change = (
            _RELEVANCE_WEIGHT * relevance_z[sentence.title]
            - _REPETITION_PENALTY * earlier[sentence.title]
        )
        sentences.append(replace(sentence, score=sentence.score + change * deviation))
        earlier[sentence.title] += 1
    return best_first(sentences)


# Content words of a claim that `evidence` sentences suffice for, and of each further sentence.
_SHORT_CLAIM, _WORDS_OF_SENTENCE = 8, 3


def evidence_count(claim: str, least: int, most: int) -> int:
    """Return how many sentences are kept as evidence of a claim, `least` if it is short.

    A long claim is about more documents, of each of which the evidence should have a sentence.
    """
    words = {word.norm for word in split_words(claim) if word.is_content}
    beyond = len(words) - _SHORT_CLAIM
    more = -(-beyond // _WORDS_OF_SENTENCE)
    return max(least, min(least + more, most))


def choose_evidence(
    scored: Sequence[Sentence], count: int, per_document: int
) -> tuple[Sentence, ...]:
    """Return the best `count` sentences, at most `per_document` of one document, best first.

    A document that answers one part of the claim often has several similar sentences. Without the
    limit they would crowd out the documents of the other parts, and a hop can only keep documents
    that have evidence. If too few sentences remain, the best of the others are added.
    """
    taken: Counter[str] = Counter()
    within_limit: list[int] = []
    beyond_limit: list[int] = []
    for rank, sentence in enumerate(scored):
        (within_limit if taken[sentence.title] < per_document else beyond_limit).append(rank)
        taken[sentence.title] += 1
    missing = max(count - len(within_limit), 0)
    ranks = sorted([*within_limit, *beyond_limit[:missing]][:count])
    return tuple(scored[rank] for rank in ranks)


def missing_openings(
    scored: Sequence[Sentence], evidence: Sequence[Sentence], named: Collection[str]
) -> list[Sentence]:
    """Return the opening sentences that the evidence lacks of its named documents, best first.

    What a document is about, and dates and places of birth, stand there. A comparison needs them,
    even if they have no word of the claim.
    """
    titles = {sentence.title for sentence in evidence} & set(named)
    kept = {sentence.key for sentence in evidence}
    return [s for s in scored if s.index == 0 and s.title in titles and s.key not in kept]


@dataclass(slots=True)
class HopRecord:
    """The results of one hop."""

    # The hop as the result reports it, without judgement until its evidence has been judged.
    hop: Hop
    # All its document sets, best first; none from the second hop on without a generator.
    document_sets: Sequence[DocumentSet]
    # The score of the best sentence of each document that it read.
    best_scores: Mapping[str, float] = field(default_factory=dict)
    # The first sentences of its evidence, on which later hops and the ranking build. The others
    # complete the evidence; they would only distract the search.
    leading: Sequence[Sentence] = ()
    mentioned: Sequence[str] = ()  # the titles that the leading sentences mention
    # How close documents are in the graph to the claim and to its evidence.
    proximity: Mapping[str, Proximity] = field(default_factory=dict)


@dataclass(slots=True)
class SearchState:
    """The state of the search for one claim."""

    claim: Claim
    # The documents of the first stage, best first.
    candidates: list[ScoredTitle] = field(default_factory=list)
    claim_mentions: list[str] = field(default_factory=list)  # the titles that the claim mentions
    records: list[HopRecord] = field(default_factory=list)  # what each hop has found
    # The document sets of the next hop, best first, once it has expanded.
    next_sets: list[DocumentSet] = field(default_factory=list)
    # The titles of documents that are close in the graph to the evidence of the last hop.
    graph_titles: list[str] = field(default_factory=list)
    stopped: Stopped | None = None  # why the claim has stopped; None while it has not

    @property
    def hops(self) -> list[Hop]:
        """The hops."""
        return [record.hop for record in self.records]

    @property
    def evidence(self) -> tuple[Sentence, ...]:
        """The evidence of the last hop."""
        return self.records[-1].hop.evidence if self.records else ()

    @property
    def leading(self) -> Sequence[Sentence]:
        """The sentences of the last hop's evidence that the next hop builds on."""
        return self.records[-1].leading if self.records else ()

    @property
    def next_titles(self) -> Sequence[str]:
        """The titles that the evidence of the last hop mentions."""
        return self.records[-1].mentioned if self.records else ()

    @property
    def named_titles(self) -> set[str]:
        """The titles that the claim or the evidence of any hop mentions."""
        return set(self.claim_mentions).union(*(record.mentioned for record in self.records))

    @property
    def found_titles(self) -> list[str]:
        """Every document that was found, read or mentioned by evidence, each once."""
        titles = [
            *(candidate.title for candidate in self.candidates),
            *(t for record in self.records for s in record.document_sets for t in s.titles),
            *(t for record in self.records for t in record.hop.read),
            *(t for record in self.records for t in record.mentioned),
        ]
        return list(dict.fromkeys(titles))

    def titles_to_read(self, count: int) -> list[str]:
        """Return the titles of the documents that the next hop reads, `count` at most.

        The first hop reads the candidates. Later hops read the documents of the evidence again and,
        even beyond `count`, one more: interleaved follow the documents of the hop's sets, those
        that the evidence mentions, the candidates, and those that are close to the evidence in the
        graph. The claim may show only now that one of these matters.
        """
        candidates = [candidate.title for candidate in self.candidates]
        if not self.records:
            return candidates[:count]
        in_sets = list(dict.fromkeys(t for s in self.next_sets for t in s.titles))
        in_evidence = dict.fromkeys(sentence.title for sentence in self.leading)
        new_titles = interleaved(in_sets, self.next_titles, candidates, self.graph_titles)
        return list(dict.fromkeys([*in_evidence, *new_titles]))[: max(count, len(in_evidence) + 1)]

    def kept_sentences(self) -> list[Sentence]:
        """Return the evidence that the next hop builds on, for the reranker to read.

        These are the best evidence sentences of the documents that the best document set keeps from
        the hop before: all of its documents but the last one, which is new. Without document sets,
        as many documents are kept, those of the best evidence.
        """
        best = {s.title: s for s in reversed(self.leading)}  # the first and best sentence wins
        if self.next_sets:
            kept = self.next_sets[0].titles[:-1]
        else:
            kept = tuple(dict.fromkeys(s.title for s in self.leading))[: len(self.records)]
        return [best[title] for title in kept if title in best]

    def add_hop(self, sentences: Sequence[Sentence]) -> HopRecord:
        """Begin the record of a hop that has read these sentences, best first.

        The document sets of the first hop, `D_1`, are one for each candidate, sorted by their best
        sentences; candidates that were not read come last.
        """
        read = tuple(dict.fromkeys(sentence.title for sentence in sentences))
        document_sets: Sequence[DocumentSet] = self.next_sets
        if not self.records:
            rank = {title: number for number, title in enumerate(read)}
            ordered = sorted(self.candidates, key=lambda c: rank.get(c.title, len(rank)))
            document_sets = [DocumentSet((c.title,), c.score) for c in ordered]
        hop = Hop(False, None, number=len(self.records) + 1, read=read)
        self.records.append(HopRecord(hop, document_sets, best_scores(sentences)))
        self.next_sets = []
        return self.records[-1]

    def before_reading(self, number: int) -> SearchState:
        """Return a copy of the state after `number` hops, when the next one was about to read."""
        next_sets = list(self.records[number].document_sets)
        return replace(self, records=self.records[:number], next_sets=next_sets)

    def first_hops(self, count: int) -> SearchState:
        """Return a copy that ends after the first `count` hops."""
        return replace(self, records=self.records[:count], next_sets=[])
