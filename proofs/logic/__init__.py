"""Natural logic: operators, their composition, proofs and their notation."""
