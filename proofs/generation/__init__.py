"""Constrained proof generation: the proof grammar compiled into the decoder, and its targets."""
