"""Aliases: other names of documents, found by rules when a corpus is indexed."""
