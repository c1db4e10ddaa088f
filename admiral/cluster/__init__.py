"""Runs on many machines with Ray: retrieval of chunks of claims, and builds of knowledge bases."""
