"""Token tries in flat, memory-mapped arrays: built, read, checked, updated."""
