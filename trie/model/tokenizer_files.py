"""Open the tokenizer of a directory in the Hugging Face format, without network access."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

# transformers builds these from their pieces alone, without the normalisation of tokenizer.json,
# with which the published models were trained.
_REBUILT = ("T5Tokenizer",)


def load_tokenizer(directory: Path) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a directory.

    Raises
    ------
    ValueError
        If there is only a SentencePiece model.
    """
    is_complete = (directory / "tokenizer.json").is_file()
    if not is_complete and (directory / "spiece.model").is_file():
        raise ValueError(
            "spiece.model is not read without tokenizer.json, which transformers writes with "
            "save_pretrained where the package sentencepiece is installed"
        )
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
        str(directory), local_files_only=True
    )
    if is_complete and type(tokenizer).__name__ in _REBUILT:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(str(directory), local_files_only=True)
    return tokenizer
