"""Knowledge bases searched as one, without being built again."""
