"""Files: atomic writes, locks, checksums, settings."""
