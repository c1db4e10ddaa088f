"""Training on citations of which only the cited page is known, not the passage that supports them.

A verifier and an encoder of passages learn from the same file of claims with the passages of their
page and others, by expectation maximisation (Petroni et al., 2023).
"""
