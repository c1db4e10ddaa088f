"""Claims that the sentences of a document entail, from their parses by spaCy.

A sentence becomes a claim about its document: the subject is named, and parts that the claim can do
without are left out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator

from admiral.records import from_json
from admiral.retrieval.first_stage import base_title

_FILE = Path(__file__).with_name("twins.yaml")


Words = Annotated[frozenset[str], BeforeValidator(str.split)]


@dataclass(frozen=True, slots=True)
class TwinWords:
    """The words of ``twins.yaml``."""

    one_way: Words  # verbs whose subject and object cannot change places
    single: Words  # verbs that have one value of a kind
    antonyms: dict[str, str]  # words with one that contradicts them
    countries: dict[str, str]  # countries by the adjective of origin


@cache
def twin_words() -> TwinWords:
    """Return the words."""
    return from_json(TwinWords, yaml.safe_load(_FILE.read_text(encoding="utf-8")))


_MIN_WORDS, _MAX_WORDS = 4, 26
_PRONOUNS = {"he", "she", "it", "they", "this"}
#: Dependents that a claim can do without.
_OPTIONAL = {"advcl", "relcl", "appos", "parataxis", "npadvmod", "meta"}
_LEADING = {"prep", "advcl", "npadvmod", "advmod", "cc", "mark", "punct"}
_TAIL = {"prep", "acl", "advmod"}
_AUXILIARY = {"aux", "auxpass"}
# Shares of the optional parts that are left out, and of those after the verb.
_LEFT_OUT, _SHORTENED = 0.9, 0.12
_QUANTITIES = {"DATE", "CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT"}
_VALUES = _QUANTITIES | {
    "PERSON", "GPE", "LOC", "ORG", "NORP", "FAC", "WORK_OF_ART", "LANGUAGE", "EVENT",
}  # fmt: skip
#: Prepositions of what others may share, as in "directed with Anna Berg".
_COMPANY = {"with", "alongside", "including", "like", "as", "for"}
_NEGATION = re.compile(
    r"\b(?:no|not|nor|never|neither|none|without|cannot|hardly|unless)\b|n't\b", re.I
)
_UNCERTAIN = re.compile(
    r"\b(?:may|might|could|would|reportedly|allegedly|perhaps|possibly)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a claim: its characters and kind, and whether other values contradict it."""

    begin: int
    end: int
    kind: str
    text: str
    single: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that a sentence of a document entails."""

    text: str  # the claim, with a full stop
    index: int  # number of the sentence
    subject: int  # end of the subject in the text
    values: tuple[Value, ...]  # its values after the subject
    swapped: str | None  # the claim with the roles exchanged; None if they cannot be
    passive: str | None  # the claim in the other voice; None if there is none


class ParsedDocument:
    """A document with its first sentences parsed."""

    def __init__(self, title: str, sentences: Sequence[str], parses: Sequence[Any]) -> None:
        self.title, self.name = title, base_title(title)
        self.sentences, self._parses = sentences, parses

    def values(self) -> Iterator[tuple[int, str, str]]:
        """Yield the sentence, kind and text of each value of the document."""
        for index, parse in enumerate(self._parses):
            for entity in parse.ents:
                if entity.label_ in _VALUES:
                    yield index, entity.label_, entity.text

    def claims(self, rng: random.Random) -> list[Claim]:
        """Return the claims of the sentences about the document's subject."""
        found = []
        for index, parse in enumerate(self._parses):
            if _NEGATION.search(parse.text) or _UNCERTAIN.search(parse.text):
                continue
            for root in _predicates(parse):
                claim = self._claim(index, parse, root, rng)
                if claim is not None:
                    found.append(claim)
        return found

    def _claim(self, index: int, parse: Any, root: Any, rng: random.Random) -> Claim | None:
        subject = _subject(root)
        if subject is None or not self._is_own(subject):
            return None
        tokens = _kept(root, subject, rng)
        if not _MIN_WORDS <= len(tokens) + 1 <= _MAX_WORDS or not tokens:
            return None
        text, places = self.name, {}
        for position, token in enumerate(tokens):
            previous = tokens[position - 1] if position else None
            glued = previous is not None and previous.i == token.i - 1 and not previous.whitespace_
            if not glued and not (token.is_punct and token.text in ",;:"):
                text += " "
            places[token.i] = (len(text), len(text) + len(token.text))
            text += token.text
        text = text.rstrip(" ,;:")
        predicate = text[len(self.name) :]
        if re.search(r"^ [A-Z]| [-–'’]\w|\w[-–] |\"", predicate):
            return None  # no verb first; or a part of a word or of a quotation was left out
        values = tuple(_values_of(parse, places, root))
        swapped, passive = _other_roles(self.name, text, root, tokens, places)
        return Claim(f"{text}.", index, len(self.name), values, swapped, passive)

    def _is_own(self, subject: Any) -> bool:
        """Return whether a subject is the document's: its name, a part of it, or a pronoun."""
        words = [token for token in subject.subtree if token.dep_ not in _OPTIONAL]
        if len(words) == 1 and subject.lower_ in _PRONOUNS:
            return bool(subject.lower_ != "they")
        if subject.pos_ != "PROPN":
            return False
        text = " ".join(
            token.text
            for token in words
            if token.dep_ in ("compound", "nsubj", "nsubjpass", "flat")
        )
        names = set(self.name.split())
        return bool(text) and set(text.split()) <= names


def _predicates(parse: Any) -> Iterator[Any]:
    """Yield the verbs of a sentence's main clause: its root, and verbs joined to it."""
    for token in parse:
        if token.dep_ == "ROOT" and token.pos_ in ("VERB", "AUX"):
            yield token
            yield from (t for t in token.conjuncts if t.pos_ in ("VERB", "AUX") and t.i > token.i)


def _subject(verb: Any) -> Any:
    for child in verb.children:
        if child.dep_ in ("nsubj", "nsubjpass"):
            return child
    return _subject(verb.head) if verb.dep_ == "conj" else None


def _kept(root: Any, subject: Any, rng: random.Random) -> list[Any]:
    """Return the tokens of a predicate, without what a claim can do without, in order."""
    dropped: set[int] = {token.i for token in subject.subtree}
    auxiliaries: list[Any] = []
    has_own = any(child.dep_ in _AUXILIARY for child in root.children)
    if root.dep_ == "conj" and root.tag_ == "VBN" and not has_own:
        # "was born in A and raised in B": the second participle shares the auxiliary.
        auxiliaries = [child for child in root.head.children if child.dep_ in _AUXILIARY]
        if not auxiliaries:
            return []
    for token in root.subtree:
        is_own, is_after = token.head is root, token.i > root.i
        is_long_tail = token.dep_ in _TAIL and is_after and rng.random() < _SHORTENED
        if (
            token.dep_ == "parataxis"
            or (is_own and token.dep_ == "conj" and token.pos_ in ("VERB", "AUX"))
            or (token.dep_ in _OPTIONAL and rng.random() < _LEFT_OUT)
            or (is_own and token.i < root.i and token.dep_ in _LEADING)
            or (is_own and is_long_tail)
        ):
            dropped |= {t.i for t in token.subtree}
        if token.text == "(":
            end = next((t.i for t in token.doc[token.i :] if t.text == ")"), token.i)
            dropped |= set(range(token.i, end + 1))
        if token.text in ")[]—–;" or token.dep_ == "intj" or (is_own and token.dep_ == "cc"):
            dropped.add(token.i)
    tokens = [t for t in root.subtree if t.i not in dropped and not t.is_space]
    while tokens and (tokens[0].is_punct or tokens[0].dep_ in ("cc", "mark")):
        tokens.pop(0)
    while tokens and (tokens[-1].is_punct or tokens[-1].dep_ in ("cc", "prep", "det", "mark")):
        tokens.pop()
    if not tokens or tokens[0].i > root.i + 1 or root not in tokens:
        return []
    following = [*tokens[1:], None]
    return auxiliaries + [
        token
        for token, after in zip(tokens, following, strict=True)
        if token.text != "," or after is None or after.text not in ",."
    ]


def _values_of(parse: Any, places: dict[int, tuple[int, int]], root: Any) -> Iterator[Value]:
    for entity in parse.ents:
        if entity.label_ in _VALUES and all(token.i in places for token in entity):
            begin, end = places[entity[0].i][0], places[entity[-1].i][1]
            head = entity.root
            verb = next((a for a in [head, *head.ancestors] if a.pos_ in ("VERB", "AUX")), root)
            is_company = head.dep_ == "pobj" and head.head.lower_ in _COMPANY
            single = (
                entity.label_ in _QUANTITIES
                or (verb.lemma_.lower() in twin_words().single and not is_company)
                or (entity.label_ == "NORP" and verb.lemma_ == "be")
            )
            joined = any(t.dep_ in ("conj", "cc") for t in head.children) or head.dep_ == "conj"
            yield Value(begin, end, entity.label_, entity.text, single and not joined)


def _other_roles(
    name: str, text: str, root: Any, tokens: Sequence[Any], places: dict[int, tuple[int, int]]
) -> tuple[str | None, str | None]:
    """Return a claim with its roles exchanged, and in the other voice, where it has an agent."""
    if root.lemma_.lower() not in twin_words().one_way:
        return None, None
    agents = [c for c in root.children if c.dep_ == "agent" and c.i in places]
    objects = [c for c in root.children if c.dep_ == "dobj" and c.i in places and c.pos_ == "PROPN"]
    if agents:
        target = next((c for c in agents[0].children if c.dep_ == "pobj"), None)
    else:
        target = objects[0] if objects else None
    if target is None or target.i not in places:
        return None, None
    inside = sorted(t.i for t in target.subtree if t.i in places)
    if inside != list(range(inside[0], inside[-1] + 1)) or any(
        t.dep_ == "conj" for t in target.subtree
    ):
        return None, None
    begin, end = places[inside[0]][0], places[inside[-1]][1]
    other = text[begin:end]
    if any(t.dep_ in ("acl", "relcl", "prep", "appos") for t in target.subtree) or other in name:
        return None, None
    swapped = f"{other[:1].upper()}{other[1:]}{text[len(name) : begin]}{name}{text[end:]}."
    passive = None
    if agents and len(agents) == 1 and root.tag_ == "VBN":
        past = root.text  # regular verbs only: the participle is the past tense
        if past.endswith("ed"):
            rest = text[places[root.i][1] : places[agents[0].i][0]].rstrip() + text[end:]
            if "," not in rest:
                passive = f"{other[:1].upper()}{other[1:]} {past} {name}{rest}".rstrip() + "."
    elif objects and root.text.endswith("ed"):
        rest = text[end:]
        if "," not in rest and text[len(name) : begin].strip() == root.text:
            passive = f"{other[:1].upper()}{other[1:]} was {root.text} by {name}{rest}."
    return swapped, passive
