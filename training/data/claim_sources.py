"""Where training claims come from: one interface over the formats of many data sets."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.gold import FORMATS as GOLD_FORMATS
from admiral.gold import GoldClaim, read_gold
from admiral.records import Document
from training.data import claim_readers
from training.data.corpora_of_claims import Corpus
from training.data.sampling import TASKS


@dataclass(frozen=True, slots=True)
class SourceClaim:
    """A claim and, where they come with it, the passages in which its evidence stands."""

    claim: GoldClaim
    passages: tuple[Document, ...] = ()


Reader = Callable[[Path], Iterator[SourceClaim]]


def _gold(path: Path, name: str | None) -> Iterator[SourceClaim]:
    for claim in read_gold(path, name):
        yield SourceClaim(claim)


def _read(
    path: Path, records: Callable[[Path], Iterator[tuple[GoldClaim, tuple[Document, ...]]]]
) -> Iterator[SourceClaim]:
    count = 0
    for count, (claim, passages) in enumerate(records(path), start=1):  # noqa: B007
        yield SourceClaim(claim, passages)
    if not count:
        raise AdmiralError(f"{path}: holds no claims")


# Format -> its reader, and the tasks that samples are made for where none are named.
_FORMATS: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "gold": (partial(_gold, name=None), TASKS),
    **{name: (partial(_gold, name=name), TASKS) for name in GOLD_FORMATS},
    "hotpotqa": (partial(_read, records=claim_readers.hotpotqa), ("retrieve", "rerank")),
    "fool-me-twice": (partial(_read, records=claim_readers.fool_me_twice), ("rerank",)),
    "ex-fever": (partial(_read, records=claim_readers.ex_fever), ("retrieve",)),
    "creak": (partial(_read, records=claim_readers.creak), ("retrieve",)),
}
FORMATS = tuple(_FORMATS)


@dataclass(frozen=True, slots=True)
class Source:
    """A file of claims, its format, and the tasks to make samples for."""

    format: str
    path: Path
    tasks: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Source:
        """Return the source that ``FORMAT:FILE`` or ``FORMAT/TASK+TASK:FILE`` names.

        Raises
        ------
        AdmiralError
            If there is no such format or task, or no file is named.
        """
        head, colon, file = text.partition(":")
        name, _, tasks = head.partition("/")
        example = "Write it as hover:claims.jsonl or as hover/retrieve+rerank:claims.jsonl"
        if not colon or not file:
            raise AdmiralError(f"source {text!r}: is not FORMAT:FILE. {example}")
        if name not in _FORMATS:
            known = ", ".join(FORMATS)
            raise AdmiralError(f"source {text!r}: no format {name!r}; there are {known}")
        chosen = tuple(tasks.split("+")) if tasks else _FORMATS[name][1]
        for task in chosen:
            if task not in TASKS:
                known = ", ".join(TASKS)
                raise AdmiralError(f"source {text!r}: no task {task!r}; there are {known}")
        return cls(name, Path(file), chosen)

    def claims(self) -> Iterator[SourceClaim]:
        """Yield the claims of the file.

        Raises
        ------
        AdmiralError
            If the file cannot be read, holds a bad record, or holds no claims.
        """
        return _FORMATS[self.format][0](self.path)


def drawn(sources: Sequence[Source], corpus: Corpus, limit: int, seed: int) -> list[GoldClaim]:
    """Return at most `limit` claims of each source, in random order, with ids of their own.

    Claims without gold documents are left out, and those that need one that the corpus lacks.
    """
    found: list[GoldClaim] = []
    rng = random.Random(seed)
    for source in sources:
        claims = [one.claim for one in source.claims()]
        rng.shuffle(claims)
        usable = (
            claim
            for claim in claims
            if claim.titles and all(corpus.row(title) is not None for title in claim.titles)
        )
        found += islice(usable, limit)
    rng.shuffle(found)
    return [replace(claim, id=str(at)) for at, claim in enumerate(found)]
