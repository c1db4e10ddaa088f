"""Claims with gold evidence: one record, and one reader for the formats that they come in."""

from admiral.gold.reading import FORMATS, format_of, read_gold
from admiral.gold.records import EvidenceSet, GoldClaim, Label, titles_of

__all__ = ["FORMATS", "EvidenceSet", "GoldClaim", "Label", "format_of", "read_gold", "titles_of"]
