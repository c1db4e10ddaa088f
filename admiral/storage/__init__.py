"""Files on disk: atomic writes, locks, checksums, settings files, checks of output paths."""
