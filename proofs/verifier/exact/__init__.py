"""Exact comparison of claims with evidence, where words decide and nothing has to be guessed."""
