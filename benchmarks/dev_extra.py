"""Packages of the extra ``dev`` that measurements need, or an error that names the remedy."""

from __future__ import annotations


def missing_package(error: ModuleNotFoundError) -> SystemExit:
    """Return the exit of a program for which a package is not installed."""
    return SystemExit(
        f"error: {error.name} is not installed. Measurements need the tools of the tests: "
        "run `make setup`"
    )


try:
    import psutil as psutil
except ModuleNotFoundError as error:
    raise missing_package(error) from None
