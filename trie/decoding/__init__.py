"""Constrained beam search, and constraints as a logits processor."""
