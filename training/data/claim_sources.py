"""Files of training claims: one interface to the formats of many data sets."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.gold import FORMATS as GOLD_FORMATS
from admiral.gold import GoldClaim, read_gold
from admiral.records import Document
from training.data import claim_readers
from training.data.evidence_corpora import Corpus
from training.data.held_out import is_held_out
from trie.model.safe_tokenizer import TASKS


@dataclass(frozen=True, slots=True)
class SourceClaim:
    """A claim and, where the data set provides them, the passages that contain its evidence."""

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


# Reader of each format, and the tasks that samples are built for by default.
_FORMATS: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "gold": (partial(_gold, name=None), TASKS),
    **{name: (partial(_gold, name=name), TASKS) for name in GOLD_FORMATS},
    "hotpotqa": (partial(_read, records=claim_readers.hotpotqa), ("retrieve", "rerank")),
    "fool-me-twice": (partial(_read, records=claim_readers.fool_me_twice), ("rerank",)),
    "wice": (partial(_read, records=claim_readers.wice), ("rerank", "prove")),
    "ex-fever": (partial(_read, records=claim_readers.ex_fever), ("retrieve",)),
    "creak": (partial(_read, records=claim_readers.creak), ("retrieve",)),
}
FORMATS = tuple(_FORMATS)


@dataclass(frozen=True, slots=True)
class Source:
    """A file of claims, its format, and the tasks to build samples for.

    Attributes
    ----------
    format, path, tasks
        The format, the file and the tasks.
    keep
        Whether to use the claim with a given text; None to use all.
    """

    format: str
    path: Path
    tasks: tuple[str, ...]
    keep: Callable[[str], bool] | None = None

    def without_held_out(self, share: float) -> Source:
        """Return the source without the held-out share of its claims."""
        return replace(self, keep=lambda text: not is_held_out(text, share))

    def only_held_out(self, share: float | None) -> Source:
        """Return the source with the held-out share of its claims only; None keeps all."""
        return self if share is None else replace(self, keep=lambda t: is_held_out(t, share))

    @classmethod
    def parse(cls, text: str) -> Source:
        """Parse ``FORMAT:FILE`` or ``FORMAT/TASK+TASK:FILE``.

        Raises
        ------
        AdmiralError
            If the format or a task is unknown, or no file is given.
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
        """Yield the claims of the file that are to be used.

        Raises
        ------
        AdmiralError
            If the file cannot be read, holds a bad record, or holds no claims.
        """
        claims = _FORMATS[self.format][0](self.path)
        return (item for item in claims if self.keep is None or self.keep(item.claim.claim))


def sample_claims(
    sources: Sequence[Source], corpus: Corpus, limit: int, seed: int
) -> list[GoldClaim]:
    """Return at most `limit` random claims of each source, in random order, with unique ids.

    Evidence sets with a document that the corpus lacks are left out, and claims without others.
    """
    sampled: list[GoldClaim] = []
    rng = random.Random(seed)
    for source in sources:
        claims = [item.claim for item in source.claims()]
        rng.shuffle(claims)
        known = (_with_known_documents(claim, corpus) for claim in claims)
        sampled += islice((claim for claim in known if claim.evidence), limit)
    rng.shuffle(sampled)
    return [replace(claim, id=str(number)) for number, claim in enumerate(sampled)]


def _with_known_documents(claim: GoldClaim, corpus: Corpus) -> GoldClaim:
    known = (
        evidence
        for evidence in claim.evidence
        if all(corpus.row(title) is not None for title, _ in evidence)
    )
    return replace(claim, evidence=tuple(known))


def titles_of(paths: Iterable[Path]) -> set[str]:
    """Return the titles of all gold documents in files of claims.

    A file that is not in a format of `read_gold` is given as ``FORMAT:FILE`` (see `Source.parse`).
    """
    return {title for path in paths for claim in _gold_claims(path) for title in claim.all_titles}


def _gold_claims(path: Path) -> Iterator[GoldClaim]:
    if not path.exists() and str(path).partition(":")[0] in _FORMATS:
        return (item.claim for item in Source.parse(str(path)).claims())
    return read_gold(path)
