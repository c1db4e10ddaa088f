"""The verifier at work: what evidence, and each sentence of it, does to a claim.

The evidence comes first and the claim second, as premise and hypothesis do in data sets of natural
language inference::

    [CLS] * Title : a sentence * Title : another one [SEP] claim [SEP]

A marker (here ``*``) stands before each sentence; what the model says of a sentence is read there.
It is ``[unused1]`` of BERT's vocabulary, which no pretraining used, or else the mask token.

A model reads at most six sentences with a claim, or fewer where they are long. Of longer evidence,
windows are read first, then together the sentences that say most about the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from tokenizers import Tokenizer

from proofs.verifier.label_scales import Calibration, Scale
from proofs.verifier.reading import (
    LABELS,
    NEUTRAL,
    NOTHING_KNOWN,
    Reading,
    Sentence,
    encodable,
    nothing_known,
    sentence_text,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


_MARKER = "[unused1]"
MAX_CLAIM_TOKENS = 160
MAX_SENTENCE_TOKENS = 160
_SPECIAL_TOKENS = 3  # the first one and two separators


@dataclass(frozen=True, slots=True)
class EvidenceInput:
    """A claim with sentences of evidence as numbers."""

    ids: list[int]
    segments: list[int]  # 0 for evidence and 1 for the claim
    markers: list[int]  # position of the marker of each sentence that is read
    claim: int  # position of the first token of the claim
    offsets: list[tuple[int, int]]  # begin and end of each token of the claim in its text
    unread: list[int]  # numbers of the sentences that are not read, or not to their end
    claim_cut: bool  # whether the claim is not read to its end

    @property
    def cut(self) -> bool:
        """Whether anything is not read."""
        return self.claim_cut or bool(self.unread)


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The ids of the tokens that inputs have beside those of texts."""

    start: int
    separator: int  # after the evidence and after the claim
    pad: int
    marker: int


class EvidenceEncoder:
    """Encodes claims with their evidence.

    Parameters
    ----------
    tokenizer
        The tokenizer of an encoder. It is copied.
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


MAX_SENTENCES = 6
Scores = tuple[np.ndarray, np.ndarray, np.ndarray]


class Backend(Protocol):
    """Runs a model on one input."""

    def __call__(self, item: EvidenceInput) -> Scores:
        """Return the logits of the whole, (3,), and of each token by the heads, (length, 3)."""
        ...


class EvidenceVerifier:
    """Reads claims with their evidence.

    Parameters
    ----------
    backend
        Runs the model. Inputs run one by one, so that a reading does not depend on others.
    """

    def __init__(
        self,
        backend: Backend,
        encoder: EvidenceEncoder,
        calibration: Calibration = Calibration(),  # noqa: B008  (immutable)
    ) -> None:
        self._backend, self._encoder, self.calibration = backend, encoder, calibration

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the evidence of each claim, pairs of title and sentence, does to it."""
        return [self._read(c, list(e)) for c, e in zip(claims, evidences, strict=True)]

    def _read(self, claim: str, evidence: list[Sentence]) -> Reading:
        if not evidence or not claim.strip():
            return nothing_known(len(evidence))
        scale = self.calibration.of(evidence)
        item = self._encode(claim, evidence[:MAX_SENTENCES])
        if len(item.markers) == len(evidence) and not item.unread:
            return self._run(item, len(evidence), scale)
        sentences = np.zeros((len(evidence), len(LABELS)))
        unread: list[int] = []
        begin = 0
        while begin < len(evidence):
            window = evidence[begin : begin + MAX_SENTENCES]
            item = self._encode(claim, window)
            part = self._run(item, len(window), scale)
            # What a window cuts is read at the beginning of the next one, where there is most room.
            size = next((number for number in item.unread if number), len(window))
            sentences[begin : begin + size] = part.sentences[:size]
            unread += [begin] if 0 in item.unread else []
            begin += size
        ranked = np.argsort(sentences[:, NEUTRAL], kind="stable")[:MAX_SENTENCES]
        best, item = self._fitting(claim, evidence, ranked, set(unread))
        whole = self._run(item, len(best), scale)
        sentences[best] = whole.sentences
        return replace(whole, sentences=sentences, unread=tuple(unread))

    def _fitting(
        self, claim: str, evidence: list[Sentence], ranked: np.ndarray, cut: set[int]
    ) -> tuple[np.ndarray, EvidenceInput]:
        for count in range(len(ranked), 0, -1):
            best = np.sort(ranked[:count])
            item = self._encode(claim, [evidence[number] for number in best])
            # A sentence that is too long alone is cut in any company.
            if {int(best[number]) for number in item.unread} <= cut:
                break
        return best, item

    def _encode(self, claim: str, evidence: list[Sentence]) -> EvidenceInput:
        (item,) = self._encoder.encode([claim], [evidence])
        return item

    def _run(self, item: EvidenceInput, count: int, scale: Scale) -> Reading:
        whole, sentences, tokens = self._backend(item)
        own = np.tile(NOTHING_KNOWN, (count, 1))
        own[: len(item.markers)] = scale.probabilities(sentences[item.markers], whole=False)
        at = slice(item.claim, item.claim + len(item.offsets))
        return Reading(
            scale.probabilities(whole),
            own,
            scale.probabilities(tokens[at], whole=False),
            tuple(item.offsets),
            tuple(item.unread),
            item.claim_cut,
        )
