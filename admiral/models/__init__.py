"""Checkpoints (model, tokenizer, heads), their checksums, devices and precisions."""
