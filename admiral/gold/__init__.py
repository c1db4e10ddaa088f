"""Claims with gold evidence: one record, and one reader for the formats that they come in."""

from admiral.gold.gold_claims import EvidenceSet, GoldClaim, Label, titles_of
from admiral.gold.gold_reader import FORMATS, format_of, read_gold

__all__ = ["FORMATS", "EvidenceSet", "GoldClaim", "Label", "format_of", "read_gold", "titles_of"]
