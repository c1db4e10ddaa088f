"""Run the command."""

from benchmarks.own_files import main

main()
