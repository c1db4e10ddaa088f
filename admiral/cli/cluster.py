"""The options of the commands that can run on a cluster, handed to them as one value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

# Option -> the setting of `ClusterOptions` that it gives.
_FIELDS = {
    "workers": "workers",
    "cpus_per_worker": "cpus",
    "gpus_per_worker": "gpus",
    "ray_address": "address",
    "attempts": "attempts",
    "claim_seconds": "claim_seconds",
}


def cluster_options(command: Command) -> Command:
    """Add --engine and what goes with ``ray``; the command gets `cluster`, None for ``local``."""

    @wraps(command)
    def packed(*, engine: str, **values: Any) -> Any:
        given = {
            field: value
            for option, field in _FIELDS.items()
            if (value := values.pop(option, None)) is not None
        }
        cluster = None
        if engine == "ray":
            from admiral.cluster.ray_session import ClusterOptions, load_ray

            cluster = ClusterOptions(**given)
            load_ray()  # that it is missing is told before anything is read
        elif given:
            option = next(o for o, field in _FIELDS.items() if field in given)
            raise click.UsageError(f"--{option.replace('_', '-')} goes with --engine ray.")
        return command(cluster=cluster, **values)

    wrapped: Any = packed
    for option in (
        click.option(
            "--ray-address",
            metavar="HOST:PORT",
            help="A running cluster, or auto for the one of this machine (default: local, one "
            "that ends with the run).",
        ),
        click.option("--gpus-per-worker", type=float, help="GPUs of each, also 0.5 (default 0)."),
        click.option("--cpus-per-worker", type=int, help="CPUs of each (default 1)."),
        click.option("--workers", type=int, help="Workers (default: as many as find room)."),
        click.option(
            "--engine",
            type=click.Choice(["local", "ray"]),
            default="local",
            show_default=True,
            help="local: in this process; ray: by workers on one or many machines.",
        ),
    ):
        wrapped = option(wrapped)
    return wrapped
