"""Claims to train on: files in the formats of many data sets, and a share of them that is held out.

The readers here are of data sets that are not annotated with sentences of a knowledge base. They
yield claims with the passages that the data set provides; there are none where only the titles of
gold documents are annotated.

The document scorer reads the model's scores. Fitted on claims that the model was trained on, its
weights would trust these scores too much, so a fixed share of claims can be held out for it.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.gold import FORMATS as GOLD_FORMATS
from admiral.gold import GoldClaim, Label, read_gold
from admiral.gold.formats import WICE_TITLE
from admiral.io.streams import json_objects
from admiral.io.text_cleaning import clean_title
from admiral.records import Document
from admiral.retrieval.first_stage import base_title
from training.data.evidence_corpora import Corpus
from trie.safe_tokenizer import TASKS


def is_held_out(claim: str, share: float) -> bool:
    """Return whether a claim belongs to the held-out share, by a hash of its text.

    `share`: the share of claims to hold out, from 0 to 1.
    """
    number = int.from_bytes(hashlib.sha256(claim.encode()).digest()[:4])
    return number / 2**32 < share


_REMEDY = "Correct the record, or name the file's format"
ClaimAndPassages = tuple[GoldClaim, tuple[Document, ...]]

_CREAK = {"true": Label.SUPPORTS, "false": Label.REFUTES}
_FOOL_ME_TWICE = {"SUPPORTS": Label.SUPPORTS, "REFUTES": Label.REFUTES}
# Evidence that supports a part of a claim is not sufficient.
_WICE = {
    "supported": Label.SUPPORTS,
    "partially_supported": Label.NOT_ENOUGH_INFO,
    "not_supported": Label.NOT_ENOUGH_INFO,
}


def hotpotqa(path: Path) -> Iterator[ClaimAndPassages]:
    """Read HotpotQA questions with their paragraphs, whose sentences two spaces separate.

    Supporting sentences are not annotated. Those of the gold paragraphs that contain the answer or
    mention the other gold document are taken to be gold, or else the first sentence.
    """
    for where, record in _records(path):
        contexts = _field(record, "contexts", list, where)
        answers = [
            span
            for answer in _field(record, "answers_objects", list, where)
            for span in _field(answer, "spans", list, where)
        ]
        passages, gold = [], []
        for context in contexts:
            title = clean_title(_field(context, "title", str, where))
            text = _field(context, "paragraph_text", str, where)
            sentences = tuple(part.strip() for part in text.split("  ") if part.strip())
            passages.append(Document(title, sentences))
            if _field(context, "is_supporting", bool, where) and sentences:
                gold.append(passages[-1])
        names = [*map(str, answers), *(base_title(document.title) for document in gold)]
        evidence = [
            (document.title, i) for document in gold for i in _supporting_sentences(document, names)
        ]
        yield (
            GoldClaim(
                _field(record, "question_id", str, where),
                _field(record, "question_text", str, where),
                None,
                (tuple(evidence),) if evidence else (),
            ),
            tuple(passages),
        )


def _supporting_sentences(document: Document, names: list[str]) -> list[int]:
    """Return the numbers of the sentences that contain a name other than the document's own."""
    other_names = [name for name in names if name and name != base_title(document.title)]
    numbers = [i for i, s in enumerate(document.sentences) if any(n in s for n in other_names)]
    return numbers or [0]


def fool_me_twice(path: Path) -> Iterator[ClaimAndPassages]:
    """Read FoolMeTwice: each claim with the gold and the retrieved sentences of one page."""
    for where, record in _records(path):
        gold = _texts(record, "gold_evidence", where)
        sentences = tuple(dict.fromkeys([*_texts(record, "retrieved_evidence", where), *gold]))
        title = clean_title(_field(record, "wikipedia_page", str, where))
        evidence = tuple((title, sentences.index(text)) for text in dict.fromkeys(gold))
        yield (
            GoldClaim(
                _field(record, "id", str, where),
                _field(record, "text", str, where),
                _label(record, _FOOL_ME_TWICE, where),
                (evidence,) if evidence else (),
            ),
            (Document(title, sentences),),
        )


def wice(path: Path) -> Iterator[ClaimAndPassages]:
    """Read WiCE: claims of Wikipedia with the sentences of the web page that they cite.

    The title of the page is part of its first sentence; without it, it is that of the article which
    cites the page. The smallest of the alternative sets of supporting sentences comes first.
    """
    for where, record in _records(path):
        sentences = _field(record, "evidence", list, where)
        if not sentences or not all(isinstance(sentence, str) for sentence in sentences):
            raise RecordError(where, "evidence", "is not a list of sentences", _REMEDY)
        first = sentences[0].removeprefix(WICE_TITLE)
        meta = _field(record, "meta", dict, where)
        given = first if first != sentences[0] else _field(meta, "claim_title", str, where)
        title = clean_title(given)
        sets = _field(record, "supporting_sentences", list, where)
        for numbers in sets:
            if not isinstance(numbers, list) or not all(
                type(number) is int and 0 <= number < len(sentences) for number in numbers
            ):
                problem = f"{numbers!r} are not numbers of its {len(sentences)} sentences"
                raise RecordError(where, "supporting_sentences", problem, _REMEDY)
        evidence = (tuple((title, number) for number in numbers) for numbers in sets if numbers)
        yield (
            GoldClaim(
                _field(meta, "id", str, where),
                _field(record, "claim", str, where),
                _label(record, _WICE, where),
                tuple(sorted(evidence, key=len)),
            ),
            (Document(title, (first, *sentences[1:])),),
        )


def creak(path: Path) -> Iterator[ClaimAndPassages]:
    """Read CREAK: claims with the title of the page that they are about in `entity`."""
    for where, record in _records(path):
        title = clean_title(_field(record, "entity", str, where))
        text = _field(record, "sentence", str, where)
        label = _label(record, _CREAK, where)
        evidence: tuple[tuple[str, None], ...] = ((title, None),)
        yield GoldClaim(_field(record, "ex_id", str, where), text, label, (evidence,)), ()


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        yield f"{path}:{number}", record


def _field(record: Any, name: str, kind: type, where: str) -> Any:
    if not isinstance(record, dict) or name not in record:
        raise RecordError(where, name, "is missing", _REMEDY)
    value = record[name]
    if not isinstance(value, kind) or value == "":
        raise RecordError(where, name, f"{value!r} is not a {kind.__name__}", _REMEDY)
    return value


def _label(record: dict[str, Any], labels: dict[str, Label], where: str) -> Label:
    value = _field(record, "label", str, where)
    if value not in labels:
        problem = f"{value!r} is none of {', '.join(labels)}"
        raise RecordError(where, "label", problem, _REMEDY)
    return labels[value]


def _texts(record: dict[str, Any], name: str, where: str) -> list[str]:
    return [_field(entry, "text", str, where) for entry in _field(record, name, list, where)]


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
    "hotpotqa": (partial(_read, records=hotpotqa), ("retrieve", "rerank")),
    "fool-me-twice": (partial(_read, records=fool_me_twice), ("rerank",)),
    "wice": (partial(_read, records=wice), ("rerank", "prove")),
    "ex-fever": (partial(_gold, name="ex-fever"), ("retrieve",)),
    "creak": (partial(_read, records=creak), ("retrieve",)),
}
FORMATS = tuple(_FORMATS)


@dataclass(frozen=True, slots=True)
class Source:
    """A file of claims, its format, and the tasks to build samples for."""

    # the format, the file and the tasks
    format: str
    path: Path
    tasks: tuple[str, ...]
    # whether to use a claim; None to use all
    keep: Callable[[GoldClaim], bool] | None = None

    def without_held_out(self, share: float) -> Source:
        """Return the source without the held-out share of its claims."""
        return replace(self, keep=lambda claim: not is_held_out(claim.claim, share))

    def only_held_out(self, share: float | None) -> Source:
        """Return the source with the held-out share of its claims only; None keeps all.

        Claims that share a document with one that is not held out are left out too. Data sets have
        groups of claims about the same documents, and a model that has learned one of a group
        finds the documents of all of them.
        """
        if share is None:
            return self
        others = self.without_held_out(share).claims()
        learned = {title for item in others for title in item.claim.all_titles}

        def is_unseen(claim: GoldClaim) -> bool:
            return is_held_out(claim.claim, share) and learned.isdisjoint(claim.all_titles)

        return replace(self, keep=is_unseen)

    @classmethod
    def parse(cls, text: str) -> Source:
        """Parse ``FORMAT:FILE`` or ``FORMAT/TASK+TASK:FILE``.

        Raises `AdmiralError` if the format or a task is unknown, or no file is given.
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

        Raises `AdmiralError` if the file cannot be read, holds a bad record, or holds no claims.
        """
        claims = _FORMATS[self.format][0](self.path)
        return (item for item in claims if self.keep is None or self.keep(item.claim))


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
