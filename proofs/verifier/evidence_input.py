"""The input of the verifier: a claim and sentences of evidence as token ids.

The evidence comes first and the claim second, as premise and hypothesis do in data sets of natural
language inference::

    [CLS] * Title : a sentence * Title : another one [SEP] claim [SEP]

A marker (here ``*``) stands before each sentence; what the model says of a sentence is read there.
It is ``[unused1]`` of BERT's vocabulary, which no pretraining used, or else the mask token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from proofs.verifier.encodable_text import encodable
from proofs.verifier.evidence_text import sentence_text
from proofs.verifier.reading import Sentence

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_MARKER = "[unused1]"
MAX_CLAIM_TOKENS = 160
MAX_SENTENCE_TOKENS = 160
_SPECIAL_TOKENS = 3  # the first one and two separators


@dataclass(frozen=True, slots=True)
class EvidenceInput:
    """A claim with sentences of evidence as numbers.

    Attributes
    ----------
    ids, segments
        Token ids, and 0 for evidence and 1 for the claim.
    markers
        Position of the marker of each sentence that is read.
    claim
        Position of the first token of the claim.
    offsets
        Begin and end of each token of the claim in its text.
    unread
        Numbers of the sentences that are not read, or not to their end.
    claim_cut
        Whether the claim is not read to its end.
    """

    ids: list[int]
    segments: list[int]
    markers: list[int]
    claim: int
    offsets: list[tuple[int, int]]
    unread: list[int]
    claim_cut: bool

    @property
    def cut(self) -> bool:
        """Whether anything is not read."""
        return self.claim_cut or bool(self.unread)


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The ids of the tokens that inputs have beside those of texts.

    Attributes
    ----------
    start, separator
        The first token, and the one after the evidence and after the claim.
    pad
        The padding of batches.
    marker
        The one before each sentence.
    """

    start: int
    separator: int
    pad: int
    marker: int


class EvidenceEncoder:
    """Encodes claims with their evidence.

    Parameters
    ----------
    tokenizer
        The tokenizer of an encoder. It is copied.
    special
        Its special tokens.
    max_length
        Maximum number of tokens of an input.
    """

    def __init__(self, tokenizer: Tokenizer, special: SpecialTokens, max_length: int) -> None:
        # Configured once: several threads may use a tokenizer, but not while one configures it.
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.special, self.max_length = special, max_length

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, max_length: int) -> EvidenceEncoder:
        """Return the encoder for a tokenizer of transformers.

        Raises
        ------
        ValueError
            If the tokenizer lacks a special token.
        """
        ids = {
            "cls_token": tokenizer.cls_token_id,
            "sep_token": tokenizer.sep_token_id,
            "pad_token": tokenizer.pad_token_id,
            "mask_token": tokenizer.mask_token_id,
        }
        missing = [name for name, number in ids.items() if number is None]
        if missing:
            raise ValueError(f"the tokenizer has no {missing[0]}; choose an encoder such as BERT")
        start, separator, pad, mask = ids.values()
        core = tokenizer.backend_tokenizer
        unused = core.token_to_id(_MARKER)
        special = SpecialTokens(start, separator, pad, mask if unused is None else unused)
        return cls(core, special, max_length)

    def encode(
        self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]
    ) -> list[EvidenceInput]:
        """Return the input of each claim with its sentences, pairs of title and text.

        Sentences are read in their order until `max_length` is reached. An empty title is left out.
        """
        flat = [
            encodable(sentence_text(sentence)) for sentences in evidences for sentence in sentences
        ]
        encoded = iter(self._tokenizer.encode_batch(flat, add_special_tokens=False))
        own = self._tokenizer.encode_batch(list(map(encodable, claims)), add_special_tokens=False)
        inputs = []
        for claim, sentences in zip(own, evidences, strict=True):
            texts = [next(encoded).ids for _ in sentences]
            inputs.append(self._joined(claim.ids, claim.offsets, texts))
        return inputs

    def _joined(
        self, claim: list[int], offsets: list[tuple[int, int]], texts: list[list[int]]
    ) -> EvidenceInput:
        most = self.max_length - _SPECIAL_TOKENS
        kept, ids = claim[: min(MAX_CLAIM_TOKENS, most)], [self.special.start]
        markers: list[int] = []
        unread: list[int] = []
        room = most - len(kept)
        for number, text in enumerate(texts):
            part = text[: max(min(MAX_SENTENCE_TOKENS, room - 1), 0)]
            if room < 1 or (text and not part):
                unread += range(number, len(texts))
                break
            if len(part) < len(text):
                unread.append(number)
            markers.append(len(ids))
            ids += [self.special.marker, *part]
            room -= len(part) + 1
        ids.append(self.special.separator)
        begin = len(ids)
        ids += [*kept, self.special.separator]
        segments = [0] * begin + [1] * (len(ids) - begin)
        claim_cut = len(kept) < len(claim)
        return EvidenceInput(ids, segments, markers, begin, offsets[: len(kept)], unread, claim_cut)
