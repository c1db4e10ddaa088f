"""Checkpoints: the model, its tokenizer and heads, checksums, devices."""
