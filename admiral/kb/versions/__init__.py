"""Add documents to a knowledge base and remove them while other processes read it."""
