"""Sentence rerankers, their encoder inputs and their scores."""
