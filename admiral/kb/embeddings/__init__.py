"""Embeddings of the sentences of a knowledge base, stored in eight bits."""
