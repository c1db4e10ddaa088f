"""Corpora in: readers of formats, sentences, duplicates, and files read in parts."""
