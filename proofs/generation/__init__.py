"""Proofs written by the seq2seq model under the grammar of their notation."""
