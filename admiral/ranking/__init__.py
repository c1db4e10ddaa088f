"""Stage 5, ranking of documents: fusion over hops, document features, the document scorer."""
