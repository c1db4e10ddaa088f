"""The ranking of documents: fusion over the hops, features, the document scorer."""
