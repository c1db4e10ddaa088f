"""Lexicons: the natural-logic relation of two spans, derived from the relations of their words.

Word lists and WordNet implement one interface, `WordLexicon`, which relates pairs of words; a
`SpanLexicon` combines the relations of words into one of spans. Equality, values (numbers, dates,
ordinals, nationalities), quantifiers and negations are built in.

WordNet is read through NLTK if both are installed; nothing is downloaded.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from proofs.lexicons.values import (
    Amounts,
    Share,
    amount,
    excludes,
    is_year_of,
    merge_values,
    quantifier,
    relation,
    same_value,
    value,
)
from proofs.logic import NatOp, compose
from proofs.logic.words import NEGATIONS, is_content, normalise, split_words, stems, word_list

logger = logging.getLogger(__name__)

# How many of a word's most frequent senses to compare, for each part of speech. With more, almost
# any two words have related senses.
SENSES = 1


@dataclass(frozen=True, slots=True)
class _Entry:
    senses: frozenset[str]
    ancestors: frozenset[str]
    antonyms: frozenset[str]


class WordNetLexicon:
    """Synonyms, antonyms and hypernyms of WordNet.

    A shared sense is equivalence and an antonym is negation. Evidence with a hyponym of the claim's
    word entails it, and vice versa. Co-hyponyms, children of one parent, do not exclude each other:
    often both are true ("singer", "actor").
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._entry = lru_cache(maxsize=50_000)(self._look_up)
        self._lock = Lock()  # NLTK's reader seeks in files that all threads share

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return the relation of two normalised words, or None if WordNet has none."""
        claimed, stated = self._entry(claim), self._entry(evidence)
        if claimed is None or stated is None:
            return None
        if claimed.senses & stated.senses:
            return NatOp.EQUIVALENCE
        if claimed.antonyms & stated.senses or stated.antonyms & claimed.senses:
            return NatOp.NEGATION
        forward = bool(claimed.senses & stated.ancestors)
        reverse = bool(stated.senses & claimed.ancestors)
        if forward == reverse:
            return None
        return NatOp.FORWARD if forward else NatOp.REVERSE

    def _look_up(self, word: str) -> _Entry | None:
        with self._lock:
            return self._read(word)

    def _read(self, word: str) -> _Entry | None:
        synsets = [s for part in "nvar" for s in self._reader.synsets(word, part)[:SENSES]]
        if not synsets:
            return None
        ancestors = [a for s in synsets for a in s.closure(_hypernyms)]
        antonyms = [a for s in synsets for lemma in s.lemmas() for a in lemma.antonyms()]
        return _Entry(
            frozenset(s.name() for s in synsets),
            frozenset(s.name() for s in ancestors),
            frozenset(lemma.synset().name() for lemma in antonyms),
        )


def _hypernyms(synset: Any) -> list[Any]:
    return [*synset.hypernyms(), *synset.instance_hypernyms()]


@lru_cache(maxsize=1)
def open_wordnet() -> WordNetLexicon | None:
    """Return the WordNet lexicon, or None, with one warning, if its data is absent."""
    try:
        from nltk.corpus import wordnet

        wordnet.ensure_loaded()
    except (LookupError, OSError):
        logger.warning(
            "NLTK has no WordNet data: proofs are written without it; "
            "`python -m nltk.downloader wordnet` installs it"
        )
    else:
        return WordNetLexicon(wordnet)
    return None


class Phrases:
    """Finds known phrases in a sequence of words.

    `known`: phrases of normalised words, separated by single spaces.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = frozenset(known)
        self._longest = max((phrase.count(" ") + 1 for phrase in self._known), default=0)

    def find(self, norms: Sequence[str]) -> list[tuple[int, int, str]]:
        """Return (first word, end, phrase) for the longest phrase that begins at each word."""
        places = []
        for at in range(len(norms) if self._known else 0):
            for end in range(min(at + self._longest, len(norms)), at + 1, -1):
                text = " ".join(norms[at:end])
                if text in self._known:
                    places.append((at, end, text))
                    break
        return places

    def merge(self, norms: Sequence[str]) -> list[str]:
        """Return the words with each phrase joined into one word."""
        words, at = [], 0
        for first, end, text in self.find(norms):
            if first >= at:
                words += [*norms[at:first], text]
                at = end
        return [*words, *norms[at:]]


# The relation of a word to a span is the first of these that holds for any word of the span.
_PREFERENCE = (
    NatOp.EQUIVALENCE,
    NatOp.FORWARD,
    NatOp.REVERSE,
    NatOp.NEGATION,
    NatOp.ALTERNATION,
)
# A "not" before one of these negates nothing: "not only a writer" was a writer.
_FOCUS_WORDS = word_list("only just merely")


class WordLexicon(Protocol):
    """A source of knowledge about pairs of words.

    A lexicon with phrases among its words has them, of normalised words separated by single spaces,
    as the attribute `phrases`.
    """

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return the relation of two normalised words, or None if it is unknown."""
        ...


class BuiltinLexicon:
    """Equality of words up to inflection, and exclusion of different values of one kind."""

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return the relation of two normalised words, or None if it is unknown."""
        if claim == evidence:
            return NatOp.EQUIVALENCE
        if value(claim) is None:
            # Numbers and years are their own stems, so this compares words only.
            return None if stems(claim).isdisjoint(stems(evidence)) else NatOp.EQUIVALENCE
        if value(evidence) is None:
            return None
        if same_value(claim, evidence):
            return NatOp.EQUIVALENCE
        if is_year_of(evidence, claim):
            return NatOp.FORWARD
        if is_year_of(claim, evidence):
            return NatOp.REVERSE
        return NatOp.ALTERNATION if excludes(claim, evidence) else None


class SpanLexicon:
    """Relates spans by their words; the first word lexicon that knows a pair decides.

    An excluded value makes the relation alternation, otherwise an antonym makes it negation,
    otherwise an entailment makes it an entailment; without any of these it is equivalence. An odd
    number of negation words in a span is a negation that is composed with the rest. If only
    quantifiers differ, they decide. If any content word of the claim has no relation to the
    evidence, the relation of the spans is unknown.
    """

    def __init__(self, sources: Sequence[WordLexicon]) -> None:
        self.sources = tuple(sources)
        known = (getattr(source, "phrases", ()) for source in self.sources)
        self.phrases = Phrases(chain.from_iterable(known))

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return the relation of two normalised words in the first source that knows them."""
        for source in self.sources:
            relation = source.word_relation(claim, evidence)
            if relation is not None:
                return relation
        return None

    def relation(self, claim_span: str, evidence_span: str) -> NatOp | None:
        """Return the relation of a claim span to an evidence span, or None if it is unknown."""
        claim, evidence = _norms(claim_span), _norms(evidence_span)
        merged_claim, merged_evidence = self.phrases.merge(claim), self.phrases.merge(evidence)
        relation = self._relation(merged_claim, merged_evidence)
        if relation is None and (merged_claim != claim or merged_evidence != evidence):
            # The words of a phrase may be related even if the phrase is not.
            return self._relation(claim, evidence)
        return relation

    def _relation(self, claim: Sequence[str], evidence: Sequence[str]) -> NatOp | None:
        claimed, claim_rest = quantifier(claim)
        stated, evidence_rest = quantifier(evidence)
        if isinstance(claimed, Amounts) and stated is None:
            stated, evidence_rest = amount(evidence)
        elif isinstance(stated, Amounts) and claimed is None:
            claimed, claim_rest = amount(claim)
        equal_shares = claimed == stated and isinstance(claimed, Share)
        if claimed is None or stated is None or equal_shares:
            return self._content_relation(claim, evidence)
        rest: NatOp | None = NatOp.EQUIVALENCE
        if any(map(is_content, claim_rest)):
            rest = self._content_relation(claim_rest, evidence_rest)
        if claimed == stated:
            return rest
        return relation(claimed, stated) if rest is NatOp.EQUIVALENCE else None

    def is_contradicted(self, claim_span: str, evidence_span: str) -> bool:
        """Return whether one span negates the other, though `relation` may be unknown.

        A negation applies to the words after it, so it counts only if the spans have an equivalent
        word after any negation.
        """
        claim, evidence = _norms(claim_span), _norms(evidence_span)
        claim_words, evidence_words = _content(_scope(claim)), _content(_scope(evidence))
        shared = any(
            self._best_relation(word, evidence_words) is NatOp.EQUIVALENCE for word in claim_words
        )
        return shared and _is_negated(claim) != _is_negated(evidence)

    def _content_relation(self, claim: Sequence[str], evidence: Sequence[str]) -> NatOp | None:
        claim_words, evidence_words = _content(claim), _content(evidence)
        if not claim_words or not evidence_words:
            return None
        relations = {self._best_relation(word, evidence_words) for word in claim_words}
        if None in relations:
            return None
        operators = [NatOp.NEGATION] * _is_negated(evidence)
        operators += [_combine(r for r in relations if r is not None)]
        operators += [NatOp.NEGATION] * _is_negated(claim)
        operator = compose(operators).operator
        return None if operator is NatOp.INDEPENDENCE else operator

    def _best_relation(self, word: str, evidence: Sequence[str]) -> NatOp | None:
        relations = {self.word_relation(word, other) for other in evidence}
        return next((r for r in _PREFERENCE if r in relations), None)


def default_lexicon(*more: WordLexicon, wordnet: bool = False) -> SpanLexicon:
    """Return the built-in lexicon, followed by the given ones and, on request, WordNet."""
    database = open_wordnet() if wordnet else None
    return SpanLexicon([BuiltinLexicon(), *more, *([] if database is None else [database])])


def _combine(relations: Iterable[NatOp]) -> NatOp:
    distinct = set(relations)
    for operator in (NatOp.ALTERNATION, NatOp.NEGATION):
        if operator in distinct:
            return operator
    return compose(distinct).operator  # equivalence and entailments commute


def _norms(span: str) -> list[str]:
    return merge_values([word.norm for word in split_words(span) if word.norm])


def _content(norms: Sequence[str]) -> list[str]:
    return [n for n in norms if is_content(n) and n not in NEGATIONS]


def _scope(norms: Sequence[str]) -> Sequence[str]:
    """Return the words after the last negation, or all words if there is none."""
    return norms[max((at + 1 for at, norm in enumerate(norms) if norm in NEGATIONS), default=0) :]


def _is_negated(norms: Sequence[str]) -> int:
    """Return 1 if a span has an odd number of negation words, otherwise 0."""
    pairs = zip(norms, [*norms[1:], ""], strict=False)
    return sum(norm in NEGATIONS and after not in _FOCUS_WORDS for norm, after in pairs) % 2


@dataclass(frozen=True)
class PairLexicon:
    """Word pairs with one symmetric relation, read from a file.

    Each line holds two or more words; the first is paired with each of the others. Words are
    separated by tabs or, in lines without tabs, by spaces. A language prefix such as ``en_`` is
    dropped, and ``_`` stands for a space. Lines that begin with ``#`` are comments. Entries with
    spaces are `phrases`, which span lexicons look up as one word. Of PPDB's lines, whose fields are
    separated by ``|||``, both phrases are read, unless the relation given is not Equivalence.
    """

    operator: NatOp
    # the words that each first word of a line is paired with
    pairs: Mapping[str, frozenset[str]] = field(repr=False)

    @classmethod
    def read(cls, path: str | Path, operator: NatOp) -> PairLexicon:
        """Read a word list.

        Raises ValueError if a line has fewer than two words or is not UTF-8, with the file and the
        line; or if the operator is not symmetric. Raises OSError if the file cannot be read.
        """
        if operator not in (NatOp.EQUIVALENCE, NatOp.NEGATION, NatOp.ALTERNATION):
            raise ValueError(f"operator {operator.value} is not the same in both directions")
        pairs: defaultdict[str, set[str]] = defaultdict(set)
        with Path(path).open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    text = line.decode("utf-8").strip(" \t\r\n")
                except UnicodeDecodeError as error:
                    raise ValueError(f"{path}:{number}: not UTF-8 ({error.reason})") from None
                if not text or text.startswith("#"):
                    continue
                first, *others = _fields(text) if "|||" not in text else _ppdb_fields(text)
                if not others:
                    raise ValueError(f"{path}:{number}: expected two words or more: {text!r}")
                if first:  # punctuation normalises to nothing
                    pairs[first].update(filter(None, others))
        return cls(operator, {first: frozenset(others) for first, others in pairs.items()})

    @property
    def phrases(self) -> frozenset[str]:
        """The entries of more than one word."""
        entries = {*self.pairs, *chain.from_iterable(self.pairs.values())}
        return frozenset(entry for entry in entries if " " in entry)

    def word_relation(self, claim: str, evidence: str) -> NatOp | None:
        """Return the relation of the list if the pair is in it, in either order."""
        listed = evidence in self.pairs.get(claim, ()) or claim in self.pairs.get(evidence, ())
        return self.operator if listed else None


def _ppdb_fields(text: str) -> list[str]:
    """Return the phrases of ``[LHS] ||| phrase ||| paraphrase ||| features ||| alignment``.

    PPDB 2.0 adds the relation; unless it is Equivalence, both phrases are returned empty.
    """
    fields = [field.strip() for field in text.split("|||")]
    if fields[5:] not in ([], ["Equivalence"]):
        return ["", ""]
    return _fields("\t".join(fields[1:3]))


def _fields(text: str) -> list[str]:
    """Return the normalised entries of a line; punctuation becomes an empty entry."""
    # Not str.split() alone: Python treats some control characters of real lists as white space.
    parts = text.split("\t" if "\t" in text else " ")
    bare = [part[3:] if part[:2].isalpha() and part[2:3] == "_" else part for part in parts if part]
    words = [map(normalise, part.replace("_", " ").split()) for part in bare]
    return [" ".join(filter(None, entry)) for entry in words]
