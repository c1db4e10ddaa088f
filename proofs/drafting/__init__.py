"""Proofs from words alone: spans of the claim, aligned with spans of the evidence."""
