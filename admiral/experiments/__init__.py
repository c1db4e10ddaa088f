"""Experiments as data: a YAML file names the claims and the systems, a directory keeps the runs."""
