"""The input of the verifier: evidence as one text, and the token ids of pairs.

The evidence comes first and the claim second, as premise and hypothesis do in data sets of natural
language inference. Of a pair that is too long, the longer text is cut at its end, which is nearly
always the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer
from torch import Tensor

from proofs.verifier.encodable_text import encodable
from proofs.verifier.evidence_batches import pad_inputs
from proofs.verifier.evidence_text import document_texts, evidence_text

__all__ = ["PairEncoder", "PairInput", "document_texts", "evidence_text"]


@dataclass(frozen=True, slots=True)
class PairInput:
    """Token ids of a pair, and the segment (0 or 1) of each token."""

    ids: list[int]
    segments: list[int]


class PairEncoder:
    """Encodes pairs of claim and evidence as token ids.

    Parameters
    ----------
    tokenizer
        A tokenizer that joins pairs as its model expects. It is copied.
    max_length
        Maximum number of tokens of a pair.
    pad
        The padding token.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int, pad: int) -> None:
        # Configured once: several threads may use a tokenizer, but not while one configures it.
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.enable_truncation(max_length, strategy="longest_first")
        self._tokenizer.no_padding()
        self._pad = pad

    def encode(self, claims: Sequence[str], evidences: Sequence[str]) -> list[PairInput]:
        """Return the input of each claim with its evidence."""
        pairs = [(encodable(e), encodable(c)) for c, e in zip(claims, evidences, strict=True)]
        encoded = self._tokenizer.encode_batch(pairs)
        return [PairInput(one.ids, one.type_ids) for one in encoded]

    def collate(self, inputs: Sequence[PairInput]) -> tuple[Tensor, Tensor, Tensor]:
        """Return token ids, attention mask and segments of inputs, (inputs, longest input)."""
        return pad_inputs([i.ids for i in inputs], [i.segments for i in inputs], self._pad)
