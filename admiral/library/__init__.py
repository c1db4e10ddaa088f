"""Sources cut into passages: the collection in which citations are looked up."""
