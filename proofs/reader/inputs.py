"""The input of the natural-logic reader: a claim, cut into spans, with sentences of evidence.

Values are written in one form before they are read (see `proofs.verifier.canonical`); all places
are those in the texts as they were given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from proofs.drafting.spans import chunk
from proofs.verifier import Sentence, encodable, sentence_text
from proofs.verifier.canonical import CanonicalText, canonical
from proofs.verifier.evidence_verifier import EvidenceEncoder
from proofs.verifier.exports import SpecialTokens
from proofs.verifier.windows import WindowInput

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MAX_SPANS = 14
MAX_LENGTH = 384


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderInput(WindowInput):
    """The input of a reader."""

    spans: list[tuple[int, int]]  # positions ``[begin, end)`` of the tokens of each claim span
    places: list[tuple[int, int]]  # characters ``[begin, end)`` of each span in the claim
    # characters ``[begin, end)`` of each token of each sentence that is read, in the text of title
    # and sentence as they were given
    offsets: list[list[tuple[int, int]]]


class ReaderEncoder:
    """Encodes claims with their evidence for a reader, values in one form.

    `tokenizer`: the tokenizer of an encoder. It is copied. `max_length`: maximum number of tokens.
    `canonical_values`: whether values are read in their canonical form.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        special: SpecialTokens,
        max_length: int,
        *,
        canonical_values: bool = True,
    ) -> None:
        self._inputs = EvidenceEncoder(tokenizer, special, max_length)
        self.tokenizer, self.special, self.max_length = tokenizer, special, max_length
        self._form = canonical if canonical_values else CanonicalText

    @classmethod
    def of(
        cls, tokenizer: PreTrainedTokenizerBase, max_length: int, *, canonical_values: bool = True
    ) -> ReaderEncoder:
        """Return the encoder for a tokenizer of transformers.

        Raises `ValueError` if the tokenizer lacks a special token.
        """
        inputs = EvidenceEncoder.of(tokenizer, max_length)
        return cls(
            tokenizer.backend_tokenizer,
            inputs.special,
            max_length,
            canonical_values=canonical_values,
        )

    def encode(
        self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]
    ) -> list[ReaderInput]:
        """Return the input of each claim with its sentences, pairs of title and text."""
        own = [self._form(encodable(claim)) for claim in claims]
        texts = [
            [self._form(encodable(sentence_text(one))) for one in evidence]
            for evidence in evidences
        ]
        encoded = iter(self._inputs.tokens([one.text for each in texts for one in each]))
        read = []
        for claim, tokens, sentences in zip(
            own, self._inputs.tokens([claim.text for claim in own]), texts, strict=True
        ):
            given = [next(encoded) for _ in sentences]
            one = self._inputs.joined(tokens.ids, tokens.offsets, [each.ids for each in given])
            spans, places = _token_spans(claim, one.offsets, one.claim)
            ends = [*one.markers[1:], one.claim - 1]
            offsets = [
                [sentence.original(*place) for place in each.offsets[: end - begin - 1]]
                for sentence, each, begin, end in zip(
                    sentences, given, one.markers, ends, strict=False
                )
            ]
            read.append(
                ReaderInput(
                    ids=one.ids,
                    markers=one.markers,
                    spans=spans,
                    places=places,
                    offsets=offsets,
                    unread=one.unread,
                    claim_cut=one.claim_cut,
                )
            )
        return read


def _token_spans(
    claim: CanonicalText, offsets: Sequence[tuple[int, int]], first: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the positions of the tokens, and the characters, of the spans of a claim."""
    cut = chunk(claim.text, max_chunks=MAX_SPANS) or [(0, len(claim.text))]
    places: list[tuple[int, int]] = []  # in the claim as it was given
    ends: list[int] = []  # in its canonical form
    for begin, end in cut:
        place = claim.original(begin, end)
        if places and place[0] < places[-1][1]:  # the spans share a value
            places[-1] = (places[-1][0], max(place[1], places[-1][1]))
            ends[-1] = end
        else:
            places.append(place)
            ends.append(end)
    spans: list[tuple[int, int]] = []
    kept: list[tuple[int, int]] = []
    at = 0
    for number, (place, end) in enumerate(zip(places, ends, strict=True)):
        start = at
        is_last = number == len(places) - 1
        while at < len(offsets) and (is_last or offsets[at][0] < end):
            at += 1
        if at > start:
            spans.append((first + start, first + at))
            kept.append(place)
        elif kept:
            kept[-1] = (kept[-1][0], place[1])
    return spans or [(first - 1, first)], kept or [(0, places[-1][1])]
