"""Conversion of BART checkpoints between fairseq (GENRE included) and Hugging Face.

fairseq is never imported: its files are read and written here. Checkpoints are loaded only with
torch's restricted loader, which runs no code from the file.
"""

from __future__ import annotations

from admiral.convert.to_fairseq import hf_to_fairseq
from admiral.convert.to_hf import Conversion, fairseq_to_hf

__all__ = ["Conversion", "fairseq_to_hf", "hf_to_fairseq"]
