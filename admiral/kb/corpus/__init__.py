"""Read corpora of many formats into documents with unique titles."""
