"""What all training programs share: the loop, its settings, batches, files and reports."""
