"""Training of the verifier: settings, examples, loss, measures and the loop."""
