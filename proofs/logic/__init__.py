"""Natural logic: operators, the verdict automaton, proofs and their notation."""
