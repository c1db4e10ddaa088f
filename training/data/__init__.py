"""Training samples: claims of many data sets, negatives, encoding, batches."""
