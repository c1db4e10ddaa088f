"""Conversion of BART checkpoints between fairseq (GENRE included) and Hugging Face.

fairseq is never imported: its files are read and written here. Checkpoints are loaded only with
torch's restricted loader, which runs no code from the file.
"""

from __future__ import annotations

from admiral.convert.conversion import Conversion, fairseq_to_hf, hf_to_fairseq

__all__ = ["Conversion", "fairseq_to_hf", "hf_to_fairseq"]
