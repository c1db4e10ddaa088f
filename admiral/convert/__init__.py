"""BART checkpoints of fairseq (GENRE's among them) as Hugging Face directories, and back.

fairseq itself is never imported: its files are read and written here, the checkpoint only through
torch's restricted loader, which runs no code of the file.
"""

from __future__ import annotations

from admiral.convert.conversion import Conversion
from admiral.convert.to_fairseq import hf_to_fairseq
from admiral.convert.to_hf import fairseq_to_hf

__all__ = ["Conversion", "fairseq_to_hf", "hf_to_fairseq"]
