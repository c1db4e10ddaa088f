"""Experiments: a YAML file names claims and systems, a directory keeps results and measures."""
