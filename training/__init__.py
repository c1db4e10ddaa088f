"""Training: the warm start, samples from claims, and the programs that train checkpoints."""
