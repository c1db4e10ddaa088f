"""Token tries of the titles, one for each tokenizer."""
