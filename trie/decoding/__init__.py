"""Constrained beam search, and constraints as logits processors of transformers."""
