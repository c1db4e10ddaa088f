"""Join knowledge bases, so that they are searched as one without being built again."""
