"""Constraints on decoded token sequences: grammars and their finite-state automata."""
