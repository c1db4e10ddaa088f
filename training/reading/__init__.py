"""Encoded examples of the natural-logic reader, and their batches.

What is known of an example besides its label becomes sets of possible answers, as bits: the
operators that a span of the claim may have, and the sentences that it may quote. Where the evidence
has the words of a span, the quotation is there.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

import torch
from torch import Tensor

from proofs.logic import OPERATORS
from proofs.logic.words import STOP_WORDS
from proofs.reader.inputs import ReaderEncoder, ReaderInput
from proofs.verifier.classifier_verifier import padded_positions
from training.data.examples import RELEVANT, Example
from training.verification import Encoded, padded_labels

_WORD = re.compile(r"[^\W_]")
_AROUND_NAME = re.compile(r"^\W*(?:the\s|an?\s)?\W*|\W*(?:['’]s)?\W*$")
#: All operators are possible.
ANY_OPERATOR = (1 << len(OPERATORS)) - 1


def _operators(symbols: str) -> int:
    return sum(1 << at for at, operator in enumerate(OPERATORS) if operator.value in symbols)


# What the evidence does to a span of a claim that it entails, and to one of another claim. After a
# refuted span, one that is more specific than the evidence refutes no less.
_ENTAILED, _AGREEING, _DENIED, _OPEN, _NAMED = map(_operators, ("=<", "=<>", "!|", "#", "="))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingExample(Encoded):
    """An example for the reader."""

    spans: array[int]  # begin and end of each span, one after the other
    operators: array[int]  # possible operators of each span
    quotable: array[int]  # whether a span of the claim may quote each sentence, or nothing is known
    quotations: array[int]  # span, first and last token of each place that has its words


@dataclass(frozen=True, slots=True)
class ReadingBatch:
    """Padded examples; the sizes are those of `NaturalLogicReader.forward`."""

    ids: Tensor
    mask: Tensor
    spans: Tensor
    markers: Tensor
    labels: Tensor  # possible labels of the whole, (examples,)
    sentences: Tensor  # possible labels of each sentence, (examples, sentences)
    operators: Tensor  # possible operators of each span, (examples, spans)
    quotable: Tensor  # sentences that a span may quote, (examples, sentences); none if unknown
    # tokens that may be the first and the last one of the quotation of a span, (examples, spans,
    # length); none if unknown
    begins: Tensor
    ends: Tensor


def encoded_by(encoder: ReaderEncoder) -> Callable[[Example, ReaderInput], ReadingExample]:
    """Return a function that returns an example, of which an encoder gave the input, as numbers."""
    words = encoder.tokenizer.get_vocab()
    common = frozenset(
        at for word, at in words.items() if word in STOP_WORDS or not _WORD.search(word)
    )

    def encoded(example: Example, read: ReaderInput) -> ReadingExample:
        names = example.sentences or [None] * len(read.markers)
        known = [name in ("entailment", "contradiction", RELEVANT) for name in names]
        return ReadingExample(
            **Encoded.fields_of(example, read),
            spans=array("H", chain(*read.spans)),
            operators=array("B", possible_operators(example, read)),
            quotable=array("B", known if not all(known) else [False] * len(known)),
            quotations=array("H", chain(*quotations(read, common))),
        )

    return encoded


def quotations(read: ReaderInput, common: frozenset[int]) -> list[tuple[int, int, int]]:
    """Return the span, the first and the last token of each place that has the words of a span.

    Of each span, these are the places that have most of its content in a row, and at least half of
    it. `common`: tokens without content.
    """
    where: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for marker, offsets in zip(read.markers, read.offsets, strict=True):
        end = marker + 1 + len(offsets)
        for at in range(marker + 1, end):
            where[read.ids[at]].append((at, end))
    found = []
    for number, (begin, end) in enumerate(read.spans):
        content = [at for at in range(begin, end) if read.ids[at] not in common]
        most, places = (len(content) + 1) // 2, set[tuple[int, int]]()
        for first in content:
            for start, limit in where.get(read.ids[first], ()):
                pairs = zip(read.ids[first:end], read.ids[start:limit], strict=False)
                run = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
                said = [at for at in range(start, start + run) if read.ids[at] not in common]
                if len(said) > most:
                    most, places = len(said), set()
                if len(said) == most:
                    places.add((start, said[-1]))
        found += [(number, *place) for place in sorted(places)]
    return found


def possible_operators(example: Example, encoded: ReaderInput) -> list[int]:
    """Return the operators that each span of a claim may have, given what is known of it.

    An entailed claim is entailed throughout. A refuted claim has one span that is denied: with two,
    the automaton would end elsewhere, so nothing is said of claims with more. A span that is the
    title of a document of the evidence, beside others, is what the claim is about.
    """
    if example.label == "entailment":
        return [_ENTAILED] * len(encoded.places)
    named = [_names_at(example, place) for place in encoded.places]
    denied = [at for at, names in enumerate(named) if "contradiction" in names]
    is_open = [at for at, names in enumerate(named) if "neutral" in names]
    possible = [ANY_OPERATOR] * len(named)
    for at, names in enumerate(named):
        if names == {"entailment"}:
            possible[at] = _AGREEING if example.label == "contradiction" else _ENTAILED
    titles = {_name(title) for title, _ in example.evidence} - {""}
    if len(named) > 1:
        for at, (begin, end) in enumerate(encoded.places):
            if not named[at] and _name(example.claim[begin:end]) in titles:
                possible[at] = _NAMED
    if example.label == "contradiction" and len(denied) == 1:
        possible[denied[0]] = _DENIED
    elif example.label == "neutral" and len(is_open) == 1 and not denied:
        possible[is_open[0]] = _OPEN
    return possible


def _name(text: str) -> str:
    """Return a name without its qualifier, its article and the punctuation around it."""
    return _AROUND_NAME.sub("", text.partition(" (")[0].casefold())


def _names_at(example: Example, place: tuple[int, int]) -> set[str]:
    begin, end = place
    return {name for first, last, name in example.spans if begin < last and first < end}


def collate(items: Sequence[ReadingExample], pad: int) -> ReadingBatch:
    """Pad examples to a batch; `pad` is the id of the padding token."""
    ids, padding = padded_positions([i.ids.tolist() for i in items])
    spans = torch.zeros(len(items), max(len(i.spans) // 2 for i in items), 2, dtype=torch.long)
    for row, item in enumerate(items):
        spans[row, : len(item.spans) // 2] = torch.tensor(item.spans.tolist()).view(-1, 2)
    markers, _ = padded_positions([i.markers.tolist() for i in items])
    operators, missing = padded_positions([i.operators.tolist() for i in items])
    begins = torch.zeros(len(items), spans.shape[1], ids.shape[1], dtype=torch.bool)
    ends = torch.zeros_like(begins)
    for row, item in enumerate(items):
        places = item.quotations
        for span, first, last in zip(places[::3], places[1::3], places[2::3], strict=True):
            begins[row, span, first] = ends[row, span, last] = True
    return ReadingBatch(
        ids.masked_fill(padding, pad),
        (~padding).long(),
        spans,
        markers,
        torch.tensor([i.label for i in items]),
        padded_labels([i.sentences for i in items]),
        operators.masked_fill(missing, ANY_OPERATOR),
        padded_positions([i.quotable.tolist() for i in items])[0].bool(),
        begins,
        ends,
    )
