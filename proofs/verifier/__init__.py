"""The verifier: a pair classifier that reads a claim with its evidence.

It estimates how likely the evidence entails the claim, contradicts it, or does neither, and whether
the evidence bears on the claim at all. Any local Hugging Face pair classifier with these three
labels can stand in for it.
"""
