"""Does the evidence suffice: judges, their features, networks and weights."""
