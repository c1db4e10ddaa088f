"""Token tries in flat, memory-mapped arrays: building, reading, checking, updating."""
