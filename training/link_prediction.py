"""Build training samples of link prediction from any knowledge base, without annotated claims.

Without annotated claims, a retriever can learn to predict links. A chain of two or three documents,
each of which mentions the next, gives a pseudo-claim: one clause of each document, with mentioned
titles kept, shortened or masked. The samples are hops over such a claim: titles from the claim
alone, then from sentences of the chain among distractors.

Run as ``python -m training link_prediction --kb KB --count 100000 OUT.jsonl``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import click

from admiral.kb import KnowledgeBase, locate
from admiral.records import Document
from admiral.retrieval.first_stage import base_title, find_mentions
from training.data.records import write_records
from training.data.samples import RetrieveSample, with_headings
from training.data_options import (
    ExcludeOptions,
    HeadingOptions,
    KbOptions,
    OutOptions,
    Positive,
    SeedOptions,
    program,
)

_SENTENCES = 6  # first sentences of a document, from which links, clauses and evidence are drawn
_MIN_WORDS, _MAX_WORDS = 4, 26  # of a clause
_MAX_EVIDENCE = 5  # sentences in an input
_ONE_LINK = 0.65  # probability of a chain of two documents; otherwise three
_LAST_DOCUMENT_QUOTED = 0.6  # probability of a clause from the last document of the chain
_REVERSED = 0.3  # probability that the clauses are in reverse order
_KEPT, _SHORTENED = 0.35, 0.25  # probabilities that a mention is kept or shortened; else masked
_WHOLE_SENTENCE = 0.25  # probability that a clause is its whole sentence
_CLAUSE_END = re.compile(r"(?:[,;:]| and| which| who| that| where| when)\s")
_MASKS = ("it", "this one", "another", "someone", "one", "something")


@dataclass(frozen=True, slots=True)
class Link:
    """A mention of one document in a sentence of another."""

    # the document with the mention, and the number of its sentence
    document: Document
    sentence: int
    span: tuple[int, int]  # start and end of the mention in the sentence, in characters
    target: str  # title of the mentioned document


class PseudoClaimSampler:
    """Draw chains of documents from a knowledge base and build retrieval samples from them.

    `excluded`: titles that no chain may contain, such as those that development claims need.
    """

    def __init__(self, kb: KnowledgeBase, seed: int = 0, excluded: Collection[str] = ()) -> None:
        self._kb, self._random, self._excluded = kb, random.Random(seed), frozenset(excluded)
        self._rows = kb.rows()

    def samples(self) -> Iterator[RetrieveSample]:
        """Yield samples forever."""
        while True:
            chain = self._chain()
            if chain:
                yield from self._samples_of(chain)

    def _random_document(self) -> Document:
        return self._kb.document_at(int(self._rows[self._random.randrange(len(self._rows))]))

    def _chain(self) -> list[Link]:
        """Return one or two links; each begins at the target of the previous one."""
        document = self._random_document()
        chain: list[Link] = []
        left_out = {document.title, *self._excluded}
        length = 1 if self._random.random() < _ONE_LINK else 2
        while len(chain) < length and document.title not in self._excluded:
            links = [link for link in self._links(document) if link.target not in left_out]
            if not links:
                break
            # Prefer names of several words to those such as "French" or "September".
            weights = [len(base_title(link.target).split()) ** 2 for link in links]
            (link,) = self._random.choices(links, weights)
            chain.append(link)
            left_out.add(link.target)
            document = self._kb.document(link.target)
        return chain

    def _links(self, document: Document) -> Iterator[Link]:
        """Yield the mentions that can only mean one document."""
        for number, sentence in enumerate(document.sentences[:_SENTENCES]):
            for mention in find_mentions(self._kb, sentence):
                title = mention.titles[0]
                only_meaning = len(mention.titles) == 1 or base_title(title) == title
                is_other = title != document.title and not title.endswith("(disambiguation)")
                if only_meaning and is_other:
                    yield Link(document, number, (mention.start, mention.end), title)

    def _samples_of(self, chain: Sequence[Link]) -> Iterator[RetrieveSample]:
        """Yield samples of hop 0 and of one later hop for the pseudo-claim of a chain."""
        rng = self._random
        documents = [link.document for link in chain]
        documents.append(self._kb.document(chain[-1].target))
        gold = tuple(document.title for document in documents)
        claim = self._claim(chain, documents[-1])
        if not claim:
            return
        if rng.random() < 0.5:
            yield RetrieveSample(claim, (), 0, gold)
        hop = rng.randint(1, len(chain))
        evidence = [
            (link.document.title, link.document.sentences[link.sentence])
            for link in chain[: rng.randint(1, len(chain))]
        ]
        if documents[-1].sentences and rng.random() < 0.5:
            evidence.append((documents[-1].title, documents[-1].sentences[0]))
        evidence += self._distractors(documents, rng.randint(0, _MAX_EVIDENCE - len(evidence)))
        evidence = list(dict.fromkeys(evidence))
        rng.shuffle(evidence)
        sample = RetrieveSample(claim, tuple(evidence), hop, gold)
        if sample.targets():
            yield sample

    def _distractors(self, documents: Sequence[Document], count: int) -> list[tuple[str, str]]:
        """Return sentences of the documents, of others that they mention, and of random ones."""
        distractors: list[tuple[str, str]] = []
        for _ in range(count):
            document = self._random.choice(documents)
            match self._random.randrange(3):
                case 0:
                    if links := list(self._links(document)):
                        document = self._kb.document(self._random.choice(links).target)
                case 1:
                    document = self._random_document()
            if document.sentences:
                sentence = self._random.choice(document.sentences[:_SENTENCES])
                distractors.append((document.title, sentence))
        return distractors

    def _claim(self, chain: Sequence[Link], last: Document) -> str:
        """Return one clause for each link and, with some probability, one of the last document."""
        clauses = [self._clause(link.document, link.sentence, link) for link in chain]
        if last.sentences and self._random.random() < _LAST_DOCUMENT_QUOTED:
            number = self._random.randrange(min(2, len(last.sentences)))
            clauses.append(self._clause(last, number, None))
        if self._random.random() < _REVERSED:
            clauses.reverse()
        return " ".join(clause for clause in clauses if clause)

    def _clause(self, document: Document, sentence: int, link: Link | None) -> str:
        """Return a clause of a sentence, with the document's and the link's title reworded."""
        text = document.sentences[sentence]
        start, end = (0, 0) if link is None else link.span
        mention, own = text[start:end], base_title(document.title)
        text = self._shortened(text, start, end)
        if link is None or (own not in mention and mention not in own):
            text = text.replace(own, self._reworded(own, document.title), 1)
        if link is not None:
            text = text.replace(mention, self._reworded(mention, link.target), 1)
        return text

    def _reworded(self, mention: str, title: str) -> str:
        """Return a mention unchanged, a part of its title, or a mask."""
        draw = self._random.random()
        words = base_title(title).split()
        if draw < _KEPT:
            return mention
        if draw < _KEPT + _SHORTENED and len(words) > 1:
            return self._random.choice((words[-1], words[0]))
        return self._random.choice(_MASKS)

    def _shortened(self, text: str, start: int, end: int) -> str:
        """Return successive clauses of a text, around the characters from `start` to `end`."""
        if self._random.random() < _WHOLE_SENTENCE and len(text.split()) <= _MAX_WORDS:
            return text.strip()
        ends = (match.start() for match in _CLAUSE_END.finditer(text))
        cuts = [0, *(cut for cut in ends if not start <= cut < end), len(text)]
        last = next(at for at, cut in enumerate(cuts) if cut >= max(end, 1) or cut == len(text))
        first = max(last - 1, 0)
        while len(text[cuts[first] : cuts[last]].split()) < self._random.randint(
            _MIN_WORDS, _MAX_WORDS
        ):
            if last + 1 < len(cuts):
                last += 1
            elif first:
                first -= 1
            else:
                break
        return " ".join(text[cuts[first] : cuts[last]].strip(" ,;:").split()[: 2 * _MAX_WORDS])


class LinkOptions(HeadingOptions, ExcludeOptions, KbOptions, SeedOptions, OutOptions):
    """Options of this program."""

    count: Positive = 100_000
    """Number of samples."""


@program(LinkOptions)
def main(options: LinkOptions) -> None:
    """Write COUNT samples of link prediction to OUT (JSON Lines), the same for the same seed."""
    with KnowledgeBase.open(locate(options.kb)) as kb:
        sampler = PseudoClaimSampler(kb, options.seed, options.excluded())
        samples = islice(sampler.samples(), options.count)
        written = write_records(options.out, with_headings(samples, options.headings, options.seed))
    click.echo(f"{options.out}: {written:,} samples", err=True)
