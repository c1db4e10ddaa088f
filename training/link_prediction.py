"""Samples of link prediction from any knowledge base: no claim written by people is needed.

A chain of two or three documents, each of which mentions the next, gives a pseudo-claim: a clause
of each, with the titles kept, shortened or masked. The hops of the retriever over such a claim are
its samples: titles from the claim alone, then from sentences of the chain among distractors.

Run as ``python -m training.link_prediction --kb KB --count 100000 OUT.jsonl``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import click

from admiral.errors import AdmiralError
from admiral.gold import read_gold
from admiral.kb import KnowledgeBase, locate
from admiral.records import Document
from admiral.retrieval.title_matching import Mention, base_title, find_mentions
from training.data.samples import RetrieveSample, write_samples

_SENTENCES = 6  # of a document, in which mentions are looked for and which are quoted
_WORDS = (4, 26)  # of a clause of a pseudo-claim
_EVIDENCE = 5
# What a mention becomes in a pseudo-claim, with its share.
_KEPT, _SHORT = 0.35, 0.25
_CLAUSE_END = re.compile(r"(?:[,;:]| and| which| who| that| where| when)\s")
_PLACEHOLDERS = ("it", "this one", "another", "someone", "one", "something")


@dataclass(frozen=True, slots=True)
class Link:
    """A sentence of a document, the characters of it that mention another one, and its title."""

    document: Document
    sentence: int
    span: tuple[int, int]
    target: str


class LinkPrediction:
    """Draws chains of documents from a knowledge base and makes samples of them.

    Parameters
    ----------
    kb
        The open knowledge base.
    seed
        Draws everything.
    excluded
        Titles that no chain may hold, those that development claims need.
    """

    def __init__(self, kb: KnowledgeBase, seed: int = 0, excluded: Collection[str] = ()) -> None:
        self._kb, self._random, self._excluded = kb, random.Random(seed), frozenset(excluded)
        self._rows = kb.rows()

    def samples(self) -> Iterator[RetrieveSample]:
        """Yield samples without end."""
        while True:
            chain = self._chain()
            if chain:
                yield from self._samples(chain)

    def _chain(self) -> list[Link]:
        """Return one or two links, each from the document that the one before mentions."""
        row = int(self._rows[self._random.randrange(len(self._rows))])
        document = self._kb.document_at(row)
        chain: list[Link] = []
        seen = {document.title}
        length = 1 if self._random.random() < 0.65 else 2
        while len(chain) < length and document.title not in self._excluded:
            links = [
                link
                for link in self._links(document)
                if link.target not in seen and link.target not in self._excluded
            ]
            if not links:
                break
            # Names of several words say more than "French" or "September".
            weights = [len(base_title(link.target).split()) ** 2 for link in links]
            link = self._random.choices(links, weights)[0]
            chain.append(link)
            seen.add(link.target)
            document = self._kb.document(link.target)
        return chain

    def _links(self, document: Document) -> Iterator[Link]:
        for at, sentence in enumerate(document.sentences[:_SENTENCES]):
            for mention in find_mentions(self._kb, sentence):
                title = mention.titles[0]
                if title == document.title or not _is_specific(title, mention):
                    continue
                yield Link(document, at, (mention.start, mention.end), title)

    def _samples(self, chain: Sequence[Link]) -> Iterator[RetrieveSample]:
        """Yield hop 0 and one later hop over the pseudo-claim of a chain."""
        draw = self._random
        documents = [link.document for link in chain]
        documents.append(self._kb.document(chain[-1].target))
        gold = tuple(document.title for document in documents)
        # The last document is described, where it can be, by a sentence of its own.
        clauses = [self._clause(link.document, link.sentence, link) for link in chain]
        if documents[-1].sentences and draw.random() < 0.6:
            at = draw.randrange(min(2, len(documents[-1].sentences)))
            clauses.append(self._clause(documents[-1], at, None))
        if draw.random() < 0.3:
            clauses.reverse()
        claim = " ".join(clause for clause in clauses if clause)
        if not claim:
            return
        if draw.random() < 0.5:
            yield RetrieveSample(claim, (), 0, gold)
        hop = draw.randint(1, len(chain))
        evidence = [
            (link.document.title, link.document.sentences[link.sentence])
            for link in chain[: draw.randint(1, len(chain))]
        ]
        if documents[-1].sentences and draw.random() < 0.5:
            evidence.append((documents[-1].title, documents[-1].sentences[0]))
        evidence += self._distractors(documents, draw.randint(0, _EVIDENCE - len(evidence)))
        evidence = list(dict.fromkeys(evidence))
        draw.shuffle(evidence)
        sample = RetrieveSample(claim, tuple(evidence), hop, gold)
        if sample.targets():
            yield sample

    def _distractors(self, documents: Sequence[Document], count: int) -> list[tuple[str, str]]:
        """Return sentences of the chain's neighbours, of its documents, and of any other."""
        found: list[tuple[str, str]] = []
        for _ in range(count):
            one = self._random.choice(documents)
            match self._random.randrange(3):
                case 0:
                    links = list(self._links(one))
                    if links:
                        one = self._kb.document(self._random.choice(links).target)
                case 1:
                    row = int(self._rows[self._random.randrange(len(self._rows))])
                    one = self._kb.document_at(row)
            if one.sentences:
                sentence = self._random.choice(one.sentences[:_SENTENCES])
                found.append((one.title, sentence))
        return found

    def _clause(self, document: Document, sentence: int, link: Link | None) -> str:
        """Return a clause of a sentence with its title, and the link's, reworded."""
        text = document.sentences[sentence]
        spans = [] if link is None else [(*link.span, link.target)]
        own = base_title(document.title)
        at = text.find(own)
        if at >= 0 and all(at + len(own) <= begin or at >= end for begin, end, _ in spans):
            spans.append((at, at + len(own), document.title))
        marks = []
        for number, (begin, end, title) in sorted(enumerate(spans), key=lambda s: -s[1][0]):
            mark = f"\x00{number}\x00"
            marks.append((mark, self._reworded(text[begin:end], title)))
            text = text[:begin] + mark + text[end:]
        text = self._shortened(text, "\x000\x00" if link is not None else "")
        for mark, words in marks:
            text = text.replace(mark, words)
        return text.strip()

    def _reworded(self, mention: str, title: str) -> str:
        """Return a mention as it is, a part of it, or something that does not name it."""
        kind = self._random.random()
        words = base_title(title).split()
        if kind < _KEPT:
            return mention
        if kind < _KEPT + _SHORT and len(words) > 1:
            return self._random.choice((words[-1], words[0]))
        return self._random.choice(_PLACEHOLDERS)

    def _shortened(self, text: str, needed: str) -> str:
        """Return some successive clauses of a text, those with `needed` among them."""
        if self._random.random() < 0.25 and len(text.split()) <= _WORDS[1]:
            return text
        cuts = [0, *(m.start() for m in _CLAUSE_END.finditer(text)), len(text)]
        parts = [text[a:b] for a, b in pairwise(cuts)]
        place = next((i for i, part in enumerate(parts) if needed in part), 0)
        first = last = place
        while len("".join(parts[first : last + 1]).split()) < self._random.randint(*_WORDS):
            if last + 1 < len(parts):
                last += 1
            elif first:
                first -= 1
            else:
                break
        words = "".join(parts[first : last + 1]).strip(" ,;:").split()
        if len(words) > 2 * _WORDS[1]:
            at = next((i for i, word in enumerate(words) if needed and needed in word), 0)
            words = words[max(at - _WORDS[1], 0) : at + _WORDS[1]]
        return " ".join(words)


def _is_specific(title: str, mention: Mention) -> bool:
    """Whether a mention can mean nothing but the document with this title."""
    alone = len(mention.titles) == 1 or base_title(title) == title
    return alone and not title.endswith("(disambiguation)")


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--kb", "name", default="demo", show_default=True, help="Knowledge base.")
@click.option("--count", type=click.IntRange(min=1), default=100_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--exclude",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Development claims, whose documents no sample may need; repeatable.",
)
def main(out: Path, name: str, count: int, seed: int, exclude: tuple[Path, ...]) -> None:
    """Write link prediction samples to OUT (JSON Lines), the same ones for the same seed."""
    try:
        excluded = {
            title
            for path in exclude
            for claim in read_gold(path)
            for titles in claim.title_sets
            for title in titles
        }
        with KnowledgeBase.open(locate(name)) as kb:
            found = LinkPrediction(kb, seed, excluded).samples()
            written = write_samples(out, islice(found, count))
    except AdmiralError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{out}: {written:,} samples", err=True)


if __name__ == "__main__":
    main()
