"""Training of the verifier: settings, pairs, loss, measures and the loop."""
