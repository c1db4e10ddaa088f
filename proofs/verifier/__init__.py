"""Verifiers: what evidence, and each sentence of it, does to a claim.

A verifier estimates how likely the evidence entails the claim, contradicts it, or does neither. It
is one of ours, any Hugging Face sequence classifier, a chat model, or a class of the user.
"""
