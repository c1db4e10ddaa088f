"""The training loop: model, losses, optimisation, evaluation, checkpoints, reports."""
