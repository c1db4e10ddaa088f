"""New versions of a knowledge base: documents added and removed while others read it."""
