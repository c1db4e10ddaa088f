"""Lexical knowledge about pairs of spans: built-in rules, word lists and WordNet."""
