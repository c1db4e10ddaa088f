"""Fits of the judges and of the document scorer."""
