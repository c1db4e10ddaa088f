"""Verifiers: whether passages of a source support a claim."""
