"""Training: the warm start, samples from claims, and one run for all three tasks."""
