"""The command line, beside which the API is tested."""

from tests.admiral.cli.conftest import admiral, command, environment

__all__ = ["admiral", "command", "environment"]
