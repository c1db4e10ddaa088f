"""The verifier at work: what evidence, and each sentence of it, does to a claim.

The evidence comes first and the claim second, as premise and hypothesis do in data sets of natural
language inference::

    [CLS] * Title : a sentence * Title : another one [SEP] claim [SEP]

A marker (here ``*``) stands before each sentence; what the model says of a sentence is read there.
It is ``[unused1]`` of BERT's vocabulary, which no pretraining used, or else the mask token.

A model reads at most six sentences with a claim, or fewer where they are long. Of longer evidence,
windows are read first, then together the sentences that say most about the claim.

An exported verifier runs without torch. Its directory, which `training.export_verifier` writes,
holds the model (``verifier.onnx``), its tokenizer (``tokenizer.json``), and ``verifier.json``: the
maximum length of inputs, the special tokens, and the calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Encoding, Tokenizer

from proofs.verifier import Reading, Scale, Sentence, encodable, sentence_text
from proofs.verifier.exports import OnnxModel, SpecialTokens, read_export
from proofs.verifier.windows import WindowInput, WindowReader, sentence_probabilities

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_MARKER = "[unused1]"
MAX_CLAIM_TOKENS = 160
MAX_SENTENCE_TOKENS = 160
_SPECIAL_TOKENS = 3  # the first one and two separators


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceInput(WindowInput):
    """The input of a verifier."""

    segments: list[int]  # 0 for evidence and 1 for the claim
    claim: int  # position of the first token of the claim
    offsets: list[tuple[int, int]]  # begin and end of each token of the claim in its text


class EvidenceEncoder:
    """Encodes claims with their evidence.

    `tokenizer`: the tokenizer of an encoder. It is copied. `max_length`: maximum number of tokens
    of an input.
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

        Raises `ValueError` if the tokenizer lacks a special token.
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
        flat = [sentence_text(sentence) for sentences in evidences for sentence in sentences]
        encoded = iter(self.tokens(flat))
        inputs = []
        for claim, sentences in zip(self.tokens(claims), evidences, strict=True):
            texts = [next(encoded).ids for _ in sentences]
            inputs.append(self.joined(claim.ids, claim.offsets, texts))
        return inputs

    def tokens(self, texts: Sequence[str]) -> list[Encoding]:
        """Return the tokens of texts, without special ones."""
        return self._tokenizer.encode_batch(list(map(encodable, texts)), add_special_tokens=False)

    def joined(
        self, claim: list[int], offsets: list[tuple[int, int]], texts: list[list[int]]
    ) -> EvidenceInput:
        """Return the input of the tokens of a claim, with their offsets, and of its sentences."""
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
        return EvidenceInput(
            ids=ids,
            segments=segments,
            markers=markers,
            claim=begin,
            offsets=offsets[: len(kept)],
            unread=unread,
            claim_cut=claim_cut,
        )


# The logits of the whole, (3,), and of each token by the other heads, (length, 3).
Scores = tuple[np.ndarray, np.ndarray, np.ndarray]


class EvidenceVerifier(WindowReader[EvidenceInput, Scores]):
    """Reads claims with their evidence."""

    def _reading(
        self,
        claim: str,
        window: list[Sentence],
        item: EvidenceInput,
        scores: Scores,
        scale: Scale,
    ) -> Reading:
        whole, sentences, tokens = scores
        at = slice(item.claim, item.claim + len(item.offsets))
        return Reading(
            scale.probabilities(whole),
            sentence_probabilities(sentences[item.markers], len(window), scale),
            scale.probabilities(tokens[at], whole=False),
            tuple(item.offsets),
            tuple(item.unread),
            item.claim_cut,
        )


#: Names of the inputs and outputs of an exported model.
INPUTS, OUTPUTS = ("ids", "mask", "segments"), ("whole", "sentences", "tokens")
ONNX_FILE = "verifier.onnx"


def open_export(directory: Path, threads: int = 1) -> EvidenceVerifier:
    """Open an exported verifier.

    `threads`: number of threads that onnxruntime uses for a reading.

    Raises `VerifierError` if a file is missing, damaged, or has other content; with the file, the
    field and the remedy.
    """
    tokenizer, settings = read_export(directory, "export_verifier")
    model = OnnxModel(directory / ONNX_FILE, INPUTS, OUTPUTS, "export_verifier", threads)

    def backend(item: EvidenceInput) -> Scores:
        whole, sentences, tokens = model([item.ids], [[1] * len(item.ids)], [item.segments])
        return whole, sentences, tokens

    encoder = EvidenceEncoder(tokenizer, settings.special_tokens, settings.max_length)
    return EvidenceVerifier(backend, encoder, settings.calibration)
