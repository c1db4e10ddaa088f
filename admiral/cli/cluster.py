"""Options of the commands that can run on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from admiral.requirements import check_extra

Command = TypeVar("Command", bound=Callable[..., Any])

# Option -> field of `ClusterOptions`.
_FIELDS = {
    "workers": "workers",
    "cpus_per_worker": "cpus",
    "gpus_per_worker": "gpus",
    "ray_address": "address",
    "attempts": "attempts",
    "claim_seconds": "claim_seconds",
}


def cluster_options(command: Command) -> Command:
    """Add --engine and the options of ``ray``.

    The command receives them as `cluster`, a `ClusterOptions`, or None for ``local``.
    """

    @wraps(command)
    def wrapper(*, engine: str, **values: Any) -> Any:
        given = {
            field: value
            for option, field in _FIELDS.items()
            if (value := values.pop(option, None)) is not None
        }
        cluster = None
        if engine == "ray":
            from admiral.cluster.ray_session import RAY_MESSAGE, ClusterOptions

            cluster = ClusterOptions(**given)
            check_extra("ray", *RAY_MESSAGE)
        elif given:
            option = next(o for o, field in _FIELDS.items() if field in given)
            raise click.UsageError(f"--{option.replace('_', '-')} needs --engine ray.")
        return command(cluster=cluster, **values)

    wrapped: Any = wrapper
    for option in (
        click.option(
            "--ray-address",
            metavar="HOST:PORT",
            help="With --engine ray: address of a running cluster, or auto for the one on this "
            "machine. [default: a local cluster that ends with the run]",
        ),
        click.option(
            "--gpus-per-worker",
            type=float,
            help="With --engine ray: GPUs per worker, possibly a fraction. [default: 0]",
        ),
        click.option(
            "--cpus-per-worker", type=int, help="With --engine ray: CPUs per worker. [default: 1]"
        ),
        click.option(
            "--workers",
            type=int,
            help="With --engine ray: number of workers. [default: as many as fit]",
        ),
        click.option(
            "--engine",
            type=click.Choice(["local", "ray"]),
            default="local",
            show_default=True,
            help="Run in this process, or on Ray workers on one or more machines.",
        ),
    ):
        wrapped = option(wrapped)
    return cast(Command, wrapped)
