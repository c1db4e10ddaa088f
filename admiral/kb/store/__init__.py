"""Files of a knowledge base: documents, titles, title tries, and the manifest that lists them."""
