"""A wrapper of a Hugging Face tokenizer in which text never becomes a special token."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import Tokenizer, models, processors

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Stands for a space in SentencePiece vocabularies.
_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
# Replaces lone surrogates, which the tokenizers library rejects.
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

#: The tasks of a checkpoint.
TASKS = ("retrieve", "rerank", "prove")
IDENTIFIERS = 10  # numbered identifiers that a checkpoint with task tokens has tokens for
HOPS = 10  # hop numbers that a checkpoint has tokens for; later hops share the last one
#: Tokens that training adds to a vocabulary: tasks, identifiers and hop numbers.
MARKERS = (
    *("<retrieve>", "<prove>", "<rerank>"),  # in the order of published vocabularies
    *(f"<e{number}>" for number in range(IDENTIFIERS)),
    *(f"<hop{number}>" for number in range(HOPS)),
)


class SafeTokenizer:
    """Encodes text as it would appear in mid-sentence, and looks up marks and special tokens.

    Corpora are untrusted: text that contains ``</s>`` is split into ordinary pieces, or becomes the
    unknown token, but never the end-of-sequence token. The tokenizer is a fast one; every decoded
    sequence starts with the id `decoder_start`, by default the end token, as in BART.

    Attributes
    ----------
    size
        Number of tokens in the vocabulary, including added tokens.
    eos, pad, start, bos
        Ids of the end, padding, decoder start and begin tokens. T5 has no begin token (None).
    fingerprint
        A hash of the tokenizer: 16 hexadecimal digits.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, decoder_start: int | None = None
    ) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ValueError(f"{type(tokenizer).__name__} is not a fast tokenizer")
        # A private copy: the flags below must not change the caller's tokenizer.
        self._backend = Tokenizer.from_str(backend.to_str())
        self._backend.encode_special_tokens = True
        self._backend.no_truncation()
        self._backend.no_padding()
        # No automatic <s> ... </s>; callers assemble inputs themselves. Unlike RoBERTa's trimming
        # post-processor, a template without special tokens keeps the offsets of leading spaces.
        self._backend.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B")
        self.size: int = self._backend.get_vocab_size(with_added_tokens=True)
        self.eos = _required(tokenizer.eos_token_id, tokenizer.sep_token_id, "end")
        bos = tokenizer.bos_token_id
        self.bos: int | None = tokenizer.cls_token_id if bos is None else bos
        self.pad = _required(tokenizer.pad_token_id, None, "padding")
        self._unknown = tokenizer.unk_token_id
        self.start = self.eos if decoder_start is None else decoder_start
        # Byte-level BPE spells a word in mid-sentence with its leading space.
        self._prefix = "" if self._ignores_spaces() else " "
        self._has_spaces = any(_SPACE in t for t in self._backend.encode(" a").tokens)
        self._special: set[int] = set()
        if isinstance(self._backend.model, models.Unigram):
            # Special tokens are pieces of such a vocabulary, so text may spell them.
            self._unknown = _required(self._unknown, None, "unknown")
            added = self._backend.get_added_tokens_decoder()
            self._special = {number for number, token in added.items() if token.special}
        self.fingerprint = hashlib.sha256(backend.to_str().encode()).hexdigest()[:16]

    @classmethod
    def load(cls, directory: str | Path, decoder_start: int | None = None) -> SafeTokenizer:
        """Load the tokenizer of a checkpoint directory, without network access."""
        return cls(load_tokenizer(Path(directory)), decoder_start)

    def _ignores_spaces(self) -> bool:
        ids = self._backend.encode("a a").ids
        half = len(ids) // 2
        return ids[:half] == ids[half:]

    def _without_special(self, ids: list[int]) -> list[int]:
        if self._special.isdisjoint(ids):
            return ids
        return [self._unknown if token in self._special else token for token in ids]

    def encode(self, text: str) -> list[int]:
        """Return the token ids of `text` in mid-sentence, without special tokens."""
        return self._without_special(self._backend.encode(self._prefix + _clean(text)).ids)

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode many texts in parallel threads."""
        batch = self._backend.encode_batch_fast([self._prefix + _clean(t) for t in texts])
        return [self._without_special(encoded.ids) for encoded in batch]

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the token ids and, for each, its span ``[begin, end)`` of characters of `text`.

        Spans exclude leading spaces, even where they belong to the token.
        """
        encoded = self._backend.encode(self._prefix + _clean(text))
        shift = len(self._prefix)
        spans = []
        for token, (start, end) in zip(encoded.tokens, encoded.offsets, strict=True):
            start, end = max(start - shift, 0), max(end - shift, 0)
            while start < end and text[start].isspace():
                start += 1
            # The space alone has the offsets of the character after it.
            spans.append((start, start if self._has_spaces and token == _SPACE else end))
        return self._without_special(encoded.ids), spans

    def single_token(self, mark: str) -> int:
        """Return the single token of a punctuation mark or of an added token.

        Raises ValueError if the vocabulary has no single token for it.
        """
        ids = self.encode(mark)
        if len(ids) == 1 and ids[0] != self._unknown:
            return ids[0]
        added = self._backend.token_to_id(mark)
        if added is not None:
            return int(added)
        raise ValueError(f"the vocabulary has no single token for {mark!r}")

    @property
    def input_head(self) -> list[int]:
        """The begin token of an encoder input as a list; empty if there is none."""
        return [] if self.bos is None else [self.bos]

    def identifier(self, number: int) -> int:
        """Return the token of identifier `number`, from 0: ``<e0>``, or the digit ``0``.

        Raises ValueError if the vocabulary has none.
        """
        special = self._backend.token_to_id(f"<e{number}>")
        return int(special) if special is not None else self.single_token(str(number))

    @cached_property
    def max_identifiers(self) -> int:
        """Number of identifiers, from 0, that `identifier` has tokens for."""
        number = 0
        while True:
            try:
                self.identifier(number)
            except ValueError:
                return number
            number += 1

    def task(self, name: str) -> int | None:
        """Return the token of a task (``retrieve``, ``prove`` or ``rerank``), or None."""
        if name not in TASKS:
            raise ValueError(f"unknown task {name!r}; tasks are {', '.join(TASKS)}")
        token = self._backend.token_to_id(f"<{name}>")
        return None if token is None else int(token)

    def hop(self, number: int) -> int | None:
        """Return the token of a hop number, counted from 0, or None."""
        token = self._backend.token_to_id(f"<hop{min(number, HOPS - 1)}>")
        return None if token is None else int(token)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids without special tokens."""
        return str(self._backend.decode(list(ids), skip_special_tokens=True))


def load_tokenizer(directory: Path) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a directory in the Hugging Face format, without network access.

    Raises `ValueError` if there is only a SentencePiece model.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    is_complete = (directory / "tokenizer.json").is_file()
    if not is_complete and (directory / "spiece.model").is_file():
        raise ValueError(
            "spiece.model is not read without tokenizer.json, which transformers writes with "
            "save_pretrained where the package sentencepiece is installed"
        )
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
        str(directory), local_files_only=True
    )
    if is_complete and type(tokenizer).__name__ == "T5Tokenizer":
        # transformers builds it from its pieces alone, without the normalisation of tokenizer.json,
        # with which the published models were trained.
        tokenizer = PreTrainedTokenizerFast.from_pretrained(str(directory), local_files_only=True)
    return tokenizer


def _clean(text: str) -> str:
    return "".join(_REPLACEMENT if "\ud800" <= c <= "\udfff" else c for c in text)


def _required(token: int | None, alternative: int | None, name: str) -> int:
    token = alternative if token is None else token
    if token is None:
        raise ValueError(f"the tokenizer has no {name} token")
    return int(token)
