"""Proofs drafted from words alone: claim spans aligned with evidence spans."""
