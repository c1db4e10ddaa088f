"""Claims with gold evidence: one record type, and one reader for all gold formats."""

from admiral.gold.gold_claims import EvidenceSet, GoldClaim, Label, evidence_titles
from admiral.gold.gold_reader import FORMATS, detect_format, is_blind, read_gold

__all__ = [
    "FORMATS",
    "EvidenceSet",
    "GoldClaim",
    "Label",
    "detect_format",
    "evidence_titles",
    "is_blind",
    "read_gold",
]
