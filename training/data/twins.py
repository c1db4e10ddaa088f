"""Claims about real sentences, and twins of them that differ little and whose labels differ.

A sentence of a document, parsed, becomes a claim about the document: its subject is named, and
parts that the claim can do without are left out. Twins of the claim have another value, mostly one
that stands elsewhere in the evidence, are negated, have their roles exchanged, or say what follows
from a number or a date. Some keep the claim and remove the sentence that decides it.

spaCy parses the sentences; it is needed only here.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from admiral.records import Document
from admiral.retrieval.title_matching import base_title
from training.data.examples import NOT_ENTAILMENT, Example
from training.data.world_values import number_claims, time_claims

SOURCE = "twins"
TRUE, OPEN, FALSE = "entailment", "neutral", "contradiction"
_MAX_SENTENCES = 6
_MIN_WORDS, _MAX_WORDS = 4, 26
_PRONOUNS = {"he", "she", "it", "they", "this"}
#: Dependents that a claim can do without.
_OPTIONAL = {"advcl", "relcl", "appos", "parataxis", "npadvmod", "meta"}
_VALUES = {
    "PERSON", "GPE", "LOC", "ORG", "DATE", "CARDINAL", "ORDINAL", "NORP", "FAC", "WORK_OF_ART",
    "LANGUAGE", "QUANTITY", "MONEY", "PERCENT", "EVENT",
}  # fmt: skip
_YEAR = re.compile(r"(?:1[1-9]|20)\d\d")
_COUNT = re.compile(r"\d{1,3}(?:,\d{3})+|\d+")
_NEGATION = re.compile(
    r"\b(?:no|not|nor|never|neither|none|without|cannot|hardly|unless)\b|n't\b", re.I
)
_UNCERTAIN = re.compile(
    r"\b(?:may|might|could|would|reportedly|allegedly|perhaps|possibly)\b", re.I
)
#: Verbs whose subject and object cannot change places.
_ONE_WAY = frozenset(
    "direct write produce compose found develop design create paint build establish publish record "
    "acquire buy own defeat succeed kill discover invent edit narrate commission manufacture operate "
    "employ teach coach govern lead rule conquer replace beat sponsor release found star sing".split()
)
#: Verbs that have one value of a kind, so that another value contradicts them.
_SINGLE = frozenset(
    "bear die locate situate establish found release publish premiere open build complete launch "
    "direct write compose produce create design paint record begin start end close found base "
    "headquarter host form incorporate set rank score sell cover rise measure total air".split()
)
_ANTONYMS = {
    "first": "last", "last": "first", "largest": "smallest", "smallest": "largest",
    "oldest": "youngest", "youngest": "oldest", "highest": "lowest", "lowest": "highest",
    "longest": "shortest", "shortest": "longest", "northern": "southern", "southern": "northern",
    "eastern": "western", "western": "eastern", "north": "south", "south": "north", "east": "west",
    "west": "east", "male": "female", "female": "male", "won": "lost", "lost": "won",
    "before": "after", "after": "before", "older": "younger", "younger": "older",
    "increased": "decreased", "decreased": "increased", "opened": "closed", "closed": "opened",
    "former": "current", "current": "former", "retired": "active", "professional": "amateur",
    "amateur": "professional", "public": "private", "private": "public", "urban": "rural",
    "rural": "urban", "upper": "lower", "lower": "upper", "men's": "women's", "women's": "men's",
    "fictional": "real", "extinct": "living", "defunct": "active", "major": "minor",
    "minor": "major", "more": "fewer", "positive": "negative", "negative": "positive",
    "winning": "losing", "married": "unmarried", "left": "joined", "joined": "left",
    "early": "late", "late": "early", "summer": "winter", "winter": "summer",
}  # fmt: skip
_ORDINAL_WORDS = (
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
_COUNTRIES = {
    "American": "the United States", "British": "the United Kingdom", "French": "France",
    "German": "Germany", "Italian": "Italy", "Spanish": "Spain", "Canadian": "Canada",
    "Australian": "Australia", "Japanese": "Japan", "Chinese": "China", "Indian": "India",
    "Russian": "Russia", "Swedish": "Sweden", "Norwegian": "Norway", "Danish": "Denmark",
    "Dutch": "the Netherlands", "Polish": "Poland", "Irish": "Ireland", "Scottish": "Scotland",
    "Welsh": "Wales", "Brazilian": "Brazil", "Mexican": "Mexico", "Greek": "Greece",
    "Turkish": "Turkey", "Austrian": "Austria", "Swiss": "Switzerland", "Belgian": "Belgium",
    "Portuguese": "Portugal", "Finnish": "Finland", "Hungarian": "Hungary", "Czech": "the Czech Republic",
    "Argentine": "Argentina", "Korean": "Korea", "Iranian": "Iran", "Israeli": "Israel",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A named or numeric value in a claim: its characters and kind, and whether others exclude it."""

    begin: int
    end: int
    kind: str
    text: str
    single: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that a sentence of a document entails.

    Attributes
    ----------
    text
        The claim, with a full stop.
    index
        Number of the sentence.
    subject
        End of the subject in the text.
    values
        Its values after the subject.
    swapped
        The claim with the roles exchanged; None if they cannot be.
    passive
        The claim in the other voice; None if there is none.
    """

    text: str
    index: int
    subject: int
    values: tuple[Value, ...]
    swapped: str | None
    passive: str | None


@dataclass(frozen=True, slots=True)
class Twin:
    """A changed claim, its label on the evidence of the original, and the changed characters."""

    text: str
    label: str
    span: tuple[int, int] | None = None


class ParsedDocument:
    """A document with its first sentences parsed."""

    def __init__(self, document: Document, parses: Sequence[Any]) -> None:
        self.title, self.name = document.title, base_title(document.title)
        self.sentences = list(document.sentences[: len(parses)])
        self._parses = parses

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
        if re.search(r" [-–'’]\w|\w[-–] |\"", text[len(self.name) :]):
            return None  # a part of a word or of a quotation was left out
        values = tuple(_values_of(parse, places, root))
        swapped, passive = _other_roles(self.name, text, root, tokens, places)
        return Claim(f"{text}.", index, len(self.name), values, swapped, passive)

    def _is_own(self, subject: Any) -> bool:
        """Return whether a subject is the document's: its name, a part of it, or a pronoun."""
        words = [token for token in subject.subtree if token.dep_ not in _OPTIONAL]
        if len(words) == 1 and subject.lower_ in _PRONOUNS:
            return subject.lower_ != "they"
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
    if root.dep_ == "conj":
        # "was born in A and raised in B": the second participle shares the auxiliary.
        has_own = any(c.dep_ in ("aux", "auxpass") for c in root.children)
        if not has_own and root.tag_ == "VBN":
            auxiliaries = [c for c in root.head.children if c.dep_ in ("aux", "auxpass")]
            if not auxiliaries:
                return []
    for token in root.subtree:
        is_joined = token.dep_ == "conj" and token.head is root and token.pos_ in ("VERB", "AUX")
        long_tail = (
            token.dep_ in ("prep", "acl", "advmod") and token.i > root.i and rng.random() < 0.12
        )
        drop = (
            is_joined
            or token.dep_ == "parataxis"
            or (token.dep_ in _OPTIONAL and rng.random() < 0.9)
        )
        if (
            token.i < root.i
            and token.head is root
            and token.dep_ in ("prep", "advcl", "npadvmod", "advmod", "cc", "mark", "punct")
        ):
            drop = True
        if drop or (long_tail and token.head is root):
            dropped |= {t.i for t in token.subtree}
        if token.text in "()[]—–;" or token.dep_ in ("intj",):
            dropped.add(token.i)
    for token in root.subtree:
        if token.text == "(":
            end = next((t.i for t in token.doc[token.i :] if t.text == ")"), token.i)
            dropped |= set(range(token.i, end + 1))
    joined = [t for t in root.subtree if t.dep_ == "cc" and t.head is root]
    dropped |= {t.i for t in joined}
    tokens = [t for t in root.subtree if t.i not in dropped and not t.is_space]
    while tokens and (tokens[0].is_punct or tokens[0].dep_ in ("cc", "mark")):
        tokens.pop(0)
    while tokens and (tokens[-1].is_punct or tokens[-1].dep_ in ("cc", "prep", "det", "mark")):
        tokens.pop()
    if not tokens or tokens[0].i > root.i + 1 or root not in tokens:
        return []
    cleaned = [
        t
        for n, t in enumerate(tokens)
        if not (t.text == "," and n + 1 < len(tokens) and tokens[n + 1].text in ",.")
    ]
    return [*auxiliaries, *cleaned]


def _values_of(parse: Any, places: dict[int, tuple[int, int]], root: Any) -> Iterator[Value]:
    for entity in parse.ents:
        if entity.label_ in _VALUES and all(token.i in places for token in entity):
            begin, end = places[entity[0].i][0], places[entity[-1].i][1]
            head = entity.root
            verb = next((a for a in [head, *head.ancestors] if a.pos_ in ("VERB", "AUX")), root)
            single = (
                entity.label_ in ("DATE", "CARDINAL", "ORDINAL", "QUANTITY", "MONEY", "PERCENT")
                or verb.lemma_.lower() in _SINGLE
                or (entity.label_ == "NORP" and verb.lemma_ == "be")
            )
            joined = any(t.dep_ in ("conj", "cc") for t in head.children) or head.dep_ == "conj"
            yield Value(begin, end, entity.label_, entity.text, single and not joined)


def _other_roles(
    name: str, text: str, root: Any, tokens: Sequence[Any], places: dict[int, tuple[int, int]]
) -> tuple[str | None, str | None]:
    """Return a claim with its roles exchanged, and in the other voice, where it has an agent."""
    if root.lemma_.lower() not in _ONE_WAY:
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
            rest = text[places[root.i][1] : places[agents[0].i][0]] + text[end:]
            if "," not in rest:
                passive = f"{other[:1].upper()}{other[1:]} {past} {name}{rest}".rstrip() + "."
    elif objects and root.text.endswith("ed"):
        rest = text[end:]
        if "," not in rest and text[len(name) : begin].strip() == root.text:
            passive = f"{other[:1].upper()}{other[1:]} was {root.text} by {name}{rest}."
    return swapped, passive


class TwinMaker:
    """Makes groups of examples from parsed documents.

    Parameters
    ----------
    pool
        Values of each kind in many documents, to take others from.
    """

    def __init__(self, pool: dict[str, list[str]]) -> None:
        self._pool = pool

    def group(
        self,
        document: ParsedDocument,
        neighbours: Sequence[ParsedDocument],
        rng: random.Random,
        name: str,
    ) -> Iterator[Example]:
        """Yield the examples about a claim of a document; none if it has no claim.

        Parameters
        ----------
        document
            The document that the claim is about.
        neighbours
            Documents whose sentences stand beside its own.
        rng
            Generator of the choices.
        name
            Name of the group.
        """
        claims = document.claims(rng)
        if not claims:
            return
        claim = rng.choice(claims)
        around: defaultdict[str, list[str]] = defaultdict(list)
        deciding = document.sentences[claim.index]
        for index, kind, text in document.values():
            # "raised in Wakefield, West Yorkshire": the second place is true as well.
            if index != claim.index or kind in ("DATE", "CARDINAL", "PERSON"):
                around[kind].append(text)
        for other in neighbours:
            for _, kind, text in other.values():
                around[kind].append(text)
        twins = self._twins(claim, around, deciding, rng)
        true = [t for t in twins if t.label == TRUE]
        false = [t for t in twins if t.label in (FALSE, NOT_ENTAILMENT)]
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
            yield _example(twin, (document.title, deciding), own, others, rng, name)
        left_out = rng.choice(chosen)
        if own or others:
            # The rest of the document may repeat what the sentence says; then it decides.
            changed = _content(left_out.text) - _content(document.name)
            kept = [s for s in own if len(changed & _content(s[1])) < 0.5 * len(changed)]
            text = Twin(left_out.text, OPEN)
            yield _example(text, None, kept, others, rng, name)

    def _twins(
        self,
        claim: Claim,
        around: dict[str, list[str]],
        deciding: str,
        rng: random.Random,
    ) -> list[Twin]:
        makers: list[Callable[[], Iterator[Twin]]] = [
            lambda: self._other_values(claim, around, deciding, rng),
            lambda: _entailed_values(claim, around, rng),
            lambda: _negated(claim, rng),
            lambda: _opposites(claim),
            lambda: _roles(claim),
            lambda: _origins(claim),
            lambda: _reordered(claim),
        ]
        return list(dict.fromkeys(twin for maker in makers for twin in maker()))

    def _other_values(
        self, claim: Claim, around: dict[str, list[str]], deciding: str, rng: random.Random
    ) -> Iterator[Twin]:
        """Yield the claim with another value, mostly one of the same kind from the evidence."""
        for value in claim.values:
            near = [
                v
                for v in dict.fromkeys(around.get(value.kind, ()))
                if _differs(v, value.text, claim.text)
            ]
            far = [v for v in self._pool.get(value.kind, ()) if _differs(v, value.text, deciding)]
            options = near if near and rng.random() < 0.8 else far
            for other in rng.sample(options, min(2, len(options))):
                if _shape(other) != _shape(value.text):
                    continue
                text = claim.text[: value.begin] + other + claim.text[value.end :]
                label = FALSE if value.single else NOT_ENTAILMENT
                yield Twin(text, label, (value.begin, value.begin + len(other)))


def _shape(text: str) -> tuple[bool, bool, bool]:
    """Return what two values must share to stand in the same place."""
    lower = text.lower()
    return (
        bool(re.search(r"\d", text)),
        lower.startswith(("the ", "a ", "an ")),
        bool(_YEAR.fullmatch(text)),
    )


def _differs(value: str, other: str, text: str) -> bool:
    """Return whether a value is none that a text already contains, in whole or in part."""
    first, second = value.casefold(), other.casefold()
    return first not in second and second not in first and value.casefold() not in text.casefold()


def _entailed_values(
    claim: Claim, around: dict[str, list[str]], rng: random.Random
) -> Iterator[Twin]:
    """Yield what follows from a number or a year, or contradicts it."""
    for value in claim.values:
        before = claim.text[: value.begin]
        if value.kind == "DATE" and _YEAR.fullmatch(value.text) and before.endswith(" in "):
            others = [
                int(v) for v in around.get("DATE", ()) if _YEAR.fullmatch(v) and v != value.text
            ]
            for phrase in time_claims(int(value.text), others, rng, 4):
                begin = value.begin - len("in ")
                text = claim.text[:begin] + phrase.text + claim.text[value.end :]
                yield Twin(text, phrase.label, (begin, begin + len(phrase.text)))
        elif value.kind == "CARDINAL" and _COUNT.fullmatch(value.text):
            number = int(value.text.replace(",", ""))
            after = claim.text[value.end :]
            if (
                number < 3
                or not re.match(r" [a-z]", after)
                or after.startswith((" to ", " of ", " and "))
            ):
                continue
            if re.search(
                r"\b(?:the|a|an|about|over|than|least|most|around|approximately|No\.|age|aged)\W*$",
                before,
            ):
                continue
            for phrase in number_claims(number, "", [], rng, 4):
                words = phrase.text.strip()
                text = claim.text[: value.begin] + words + after
                yield Twin(text, phrase.label, (value.begin, value.begin + len(words)))


def _negated(claim: Claim, rng: random.Random) -> Iterator[Twin]:
    predicate = claim.text[claim.subject :]
    match = re.match(r" (is|was|are|were|has|had|have)\b(?! (?:been a|the only))", predicate)
    if match:
        word = (
            rng.choice((" not", " never")) if match[1] in ("was", "were", "had", "has") else " not"
        )
        at = claim.subject + match.end()
        if match[1] in ("has", "had", "have") and not re.match(
            r" (?:been|[a-z]+ed)\b", claim.text[at:]
        ):
            return
        yield Twin(
            claim.text[:at] + word + claim.text[at:], FALSE, (claim.subject + 1, at + len(word))
        )
    elif re.match(r" [a-z]+(?:ed|t|e|w)\b", predicate):
        yield Twin(
            f"{claim.text[: claim.subject]} never{predicate}",
            FALSE,
            (claim.subject + 1, claim.subject + 6),
        )


def _opposites(claim: Claim) -> Iterator[Twin]:
    for match in re.finditer(r"[A-Za-z']+", claim.text[claim.subject :]):
        word = match.group()
        begin, end = claim.subject + match.start(), claim.subject + match.end()
        if any(
            v.begin <= begin < v.end and v.kind not in ("ORDINAL", "DATE") for v in claim.values
        ):
            continue
        options = [_ANTONYMS[word]] if word in _ANTONYMS else []
        if word in _ORDINAL_WORDS:
            rank = _ORDINAL_WORDS.index(word)
            options.append(_ORDINAL_WORDS[(rank + 1) % len(_ORDINAL_WORDS)])
            after = claim.text[end:]
            if re.match(r"[ -](?:largest|longest|highest|oldest|tallest|biggest|most)\b", after):
                yield Twin(claim.text[:begin] + after[1:], FALSE, (begin, begin + 8))
        for other in options:
            before = re.sub(
                r"\ban? $", f"{'an' if other[0] in 'aeiou' else 'a'} ", claim.text[:begin]
            )
            begin = len(before)
            yield Twin(before + other + claim.text[end:], FALSE, (begin, begin + len(other)))


def _roles(claim: Claim) -> Iterator[Twin]:
    if claim.swapped is not None:
        yield Twin(claim.swapped, FALSE)
    if claim.passive is not None:
        yield Twin(claim.passive, TRUE)


def _origins(claim: Claim) -> Iterator[Twin]:
    """Yield the claim with an adjective of origin as a country."""
    predicate = claim.text[claim.subject :]
    match = re.match(
        r" (is|was) an? ([A-Z][a-z]+) ((?:[a-z-]+ )*[a-z-]+)(?=[.,]| who| and| best)", predicate
    )
    if match and match[2] in _COUNTRIES:
        noun = match[3]
        article = "an" if noun[0] in "aeiou" else "a"
        start = claim.text[: claim.subject]
        yield Twin(f"{start} {match[1]} {article} {noun} from {_COUNTRIES[match[2]]}.", TRUE)


def _reordered(claim: Claim) -> Iterator[Twin]:
    """Yield the claim with a year at its beginning."""
    match = re.search(r" in ((?:1[1-9]|20)\d\d)\.$", claim.text)
    if match:
        yield Twin(f"In {match[1]}, {claim.text[: match.start()]}.", TRUE)


def _content(text: str) -> set[str]:
    return set(re.findall(r"\d+|\w{4,}", text.casefold()))


def _example(
    twin: Twin,
    deciding: tuple[str, str] | None,
    own: Sequence[tuple[str, str]],
    others: Sequence[tuple[str, str]],
    rng: random.Random,
    group: str,
) -> Example:
    """Return an example: the deciding sentence, if any, among others."""
    count = rng.randint(0 if deciding else 1, _MAX_SENTENCES - 1)
    first = rng.sample(own, min(len(own), rng.randint(0, count)))
    rest = rng.sample(others, min(len(others), count - len(first)))
    items: list[tuple[tuple[str, str], str | None]] = [(s, OPEN) for s in (*first, *rest)]
    if deciding is None and not items:
        items = [(s, OPEN) for s in (*own, *others)][:1]
    label = twin.label
    if deciding is not None:
        items.append((deciding, label if label != NOT_ENTAILMENT else None))
    rng.shuffle(items)
    spans: tuple[tuple[int, int, str], ...] = ()
    if twin.span is not None and deciding is not None and label == FALSE:
        begin, end = twin.span
        pieces = ((0, begin, TRUE), (begin, end, FALSE), (end, len(twin.text), TRUE))
        spans = tuple(piece for piece in pieces if piece[0] < piece[1])
    return Example(
        twin.text,
        tuple(sentence for sentence, _ in items),
        label,
        SOURCE,
        tuple(name for _, name in items),
        spans,
        group,
    )
