"""Run the command line: ``python -m admiral``."""

from admiral.cli.main import run

if __name__ == "__main__":
    run()
