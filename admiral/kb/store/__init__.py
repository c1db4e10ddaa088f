"""The files of a knowledge base: documents, titles, indexes, and the manifest over them."""
