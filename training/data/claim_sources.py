"""Claims to train on: files in the formats of many data sets, and a share of them that is held out.

The models here are of data sets that are not annotated with sentences of a knowledge base. They
give claims with the passages that the data set provides; there are none where only the titles of
gold documents are annotated.

The document scorer reads the model's scores. Fitted on claims that the model was trained on, its
weights would trust these scores too much, so a fixed share of claims can be held out for it.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator

from admiral.errors import AdmiralError
from admiral.gold import GoldClaim, Label, read_gold
from admiral.gold.formats import FORMATS as GOLD_FORMATS
from admiral.gold.formats import WICE_TITLE
from admiral.io.text_cleaning import clean_title
from admiral.records import Document
from admiral.retrieval.first_stage import base_title
from training.data.evidence_corpora import Corpus
from training.data.records import read_records
from trie.safe_tokenizer import TASKS


def is_held_out(claim: str, share: float) -> bool:
    """Return whether a claim belongs to the held-out share, by a hash of its text.

    `share`: the share of claims to hold out, from 0 to 1.
    """
    number = int.from_bytes(hashlib.sha256(claim.encode()).digest()[:4])
    return number / 2**32 < share


@dataclass(frozen=True, slots=True)
class SourceClaim:
    """A claim and, where the data set provides them, the passages that contain its evidence."""

    claim: GoldClaim
    passages: tuple[Document, ...] = ()


Text = Annotated[str, Field(min_length=1)]
Title = Annotated[Text, AfterValidator(clean_title)]


def _verdict(name: str) -> Label:
    """Return the label of a claim that evidence supports or refutes, or is not enough for."""
    label = Label.parse({"true": "supports", "false": "refutes"}.get(name, name))
    return Label.NOT_ENOUGH_INFO if label is Label.NOT_SUPPORTED else label


Verdict = Annotated[Label, BeforeValidator(_verdict)]


class _Answers(BaseModel):
    spans: list[str]


class _Context(BaseModel):
    title: Title
    paragraph_text: Text
    is_supporting: bool


class _Question(BaseModel):
    """A HotpotQA question with its paragraphs, whose sentences two spaces separate.

    Supporting sentences are not annotated. Those of the gold paragraphs that contain the answer or
    mention the other gold document are taken to be gold, or else the first sentence.
    """

    question_id: Text
    question_text: Text
    contexts: list[_Context]
    answers_objects: list[_Answers]

    def claim(self) -> SourceClaim:
        passages, gold = [], []
        for context in self.contexts:
            parts = (part.strip() for part in context.paragraph_text.split("  "))
            passages.append(Document(context.title, tuple(filter(None, parts))))
            if context.is_supporting and passages[-1].sentences:
                gold.append(passages[-1])
        names = [span for answer in self.answers_objects for span in answer.spans]
        names += [base_title(document.title) for document in gold]
        evidence: list[tuple[str, int]] = []
        for title, sentences in ((document.title, document.sentences) for document in gold):
            others = [name for name in names if name and name != base_title(title)]
            numbers = [i for i, s in enumerate(sentences) if any(name in s for name in others)]
            evidence += ((title, number) for number in numbers or [0])
        sets = (tuple(evidence),) if evidence else ()
        claim = GoldClaim(self.question_id, self.question_text, None, sets)
        return SourceClaim(claim, tuple(passages))


class _Sentence(BaseModel):
    text: Text


class _FoolMeTwice(BaseModel):
    """A claim of FoolMeTwice with the gold and the retrieved sentences of one page."""

    id: Text
    text: Text
    label: Verdict
    wikipedia_page: Title
    gold_evidence: list[_Sentence]
    retrieved_evidence: list[_Sentence]

    def claim(self) -> SourceClaim:
        gold = list(dict.fromkeys(each.text for each in self.gold_evidence))
        retrieved = (each.text for each in self.retrieved_evidence)
        sentences = tuple(dict.fromkeys([*retrieved, *gold]))
        evidence = tuple((self.wikipedia_page, sentences.index(text)) for text in gold)
        claim = GoldClaim(self.id, self.text, self.label, (evidence,) if evidence else ())
        return SourceClaim(claim, (Document(self.wikipedia_page, sentences),))


class _Meta(BaseModel):
    id: Text
    claim_title: Text


class _Wice(BaseModel):
    """A claim of Wikipedia of WiCE with the sentences of the web page that it cites.

    The title of the page is part of its first sentence; without it, it is that of the article which
    cites the page. Evidence that supports a part of a claim is not sufficient. The smallest of the
    alternative sets of supporting sentences comes first.
    """

    meta: _Meta
    claim_text: Text = Field(alias="claim")
    label: Verdict
    evidence: Annotated[list[str], Field(min_length=1)]
    supporting_sentences: list[list[Annotated[int, Field(ge=0)]]]

    @model_validator(mode="after")
    def _check_numbers(self) -> Self:
        last = max((number for one in self.supporting_sentences for number in one), default=0)
        if last >= len(self.evidence):
            raise ValueError(f"the page has no sentence {last}")
        return self

    def claim(self) -> SourceClaim:
        first = self.evidence[0].removeprefix(WICE_TITLE)
        title = clean_title(first if first != self.evidence[0] else self.meta.claim_title)
        sets = (tuple((title, n) for n in numbers) for numbers in self.supporting_sentences)
        evidence = tuple(sorted(filter(None, sets), key=len))
        claim = GoldClaim(self.meta.id, self.claim_text, self.label, evidence)
        return SourceClaim(claim, (Document(title, (first, *self.evidence[1:])),))


class _Creak(BaseModel):
    """A claim of CREAK with the title of the page that it is about."""

    ex_id: Text
    sentence: Text
    label: Verdict
    entity: Title

    def claim(self) -> SourceClaim:
        evidence = (((self.entity, None),),)
        return SourceClaim(GoldClaim(self.ex_id, self.sentence, self.label, evidence))


# The records of each format, which `read_gold` reads if there is no model of them, and the tasks
# that samples are built for by default.
_FORMATS: dict[str, tuple[type[Any] | None, tuple[str, ...]]] = {
    "gold": (None, TASKS),
    **dict.fromkeys(GOLD_FORMATS, (None, TASKS)),
    "hotpotqa": (_Question, ("retrieve", "rerank")),
    "fool-me-twice": (_FoolMeTwice, ("rerank",)),
    "wice": (_Wice, ("rerank", "prove")),
    "ex-fever": (None, ("retrieve",)),
    "creak": (_Creak, ("retrieve",)),
}
FORMATS = tuple(_FORMATS)
_EXAMPLE = "Write it as hover:claims.jsonl or as hover/retrieve+rerank:claims.jsonl"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of claims, its format, and the tasks to build samples for."""

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
        head, _, file = text.partition(":")
        name, _, chosen = head.partition("/")
        if not file:
            raise AdmiralError(f"source {text!r}: is not FORMAT:FILE. {_EXAMPLE}")
        if name not in _FORMATS:
            known = ", ".join(FORMATS)
            raise AdmiralError(f"source {text!r}: no format {name!r}; there are {known}")
        tasks = tuple(chosen.split("+")) if chosen else _FORMATS[name][1]
        if unknown := [task for task in tasks if task not in TASKS]:
            known = ", ".join(TASKS)
            raise AdmiralError(f"source {text!r}: no task {unknown[0]!r}; there are {known}")
        return cls(name, Path(file), tasks)

    def claims(self) -> Iterator[SourceClaim]:
        """Yield the claims of the file that are to be used.

        Raises `AdmiralError` if the file cannot be read, holds a bad record, or holds no claims.
        """
        model = _FORMATS[self.format][0]
        claims: Iterator[SourceClaim]
        if model is None:
            name = None if self.format == "gold" else self.format
            claims = map(SourceClaim, read_gold(self.path, name))
        else:
            remedy = "Correct the record, or name the file's format"
            claims = (record.claim() for record in read_records(self.path, model, remedy))
        is_empty = True
        for item in claims:
            is_empty = False
            if self.keep is None or self.keep(item.claim):
                yield item
        if is_empty:
            raise AdmiralError(f"{self.path}: holds no claims")


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
    titles: set[str] = set()
    for path in paths:
        is_named = not path.exists() and str(path).partition(":")[0] in _FORMATS
        source = Source.parse(str(path) if is_named else f"gold:{path}")
        titles.update(title for item in source.claims() for title in item.claim.all_titles)
    return titles
