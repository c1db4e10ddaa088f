"""Claims with known answers about files that anyone has, and the systems that check them."""

from benchmarks.own_files.command import main

__all__ = ["main"]
