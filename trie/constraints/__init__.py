"""Which token sequences may be decoded: declarations and their automata."""
