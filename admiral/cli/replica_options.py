"""Options of `admiral serve` for replicas on a cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from admiral.requirements import check_extra

Command = TypeVar("Command", bound=Callable[..., Any])

# Option -> field of `admiral.serving.ray_replicas.ReplicaOptions`.
_FIELDS = {
    "ray_address": "address",
    "replicas": "replicas",
    "max_replicas": "max_replicas",
    "cpus_per_replica": "cpus",
    "gpus_per_replica": "gpus",
}
_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["local", "ray"]),
        default="local",
        show_default=True,
        help="Process claims in this process, or in replicas that Ray Serve runs on one or more "
        "machines.",
    ),
    click.option(
        "--replicas",
        type=click.IntRange(min=1),
        help="With --engine ray: number of replicas. [default: 1]",
    ),
    click.option(
        "--max-replicas",
        type=click.IntRange(min=1),
        help="With --engine ray: most replicas, if many requests are in flight. "
        "[default: as --replicas]",
    ),
    click.option(
        "--cpus-per-replica",
        type=click.IntRange(min=1),
        help="With --engine ray: CPUs and threads per replica. [default: 1]",
    ),
    click.option(
        "--gpus-per-replica",
        type=click.FloatRange(min=0),
        help="With --engine ray: GPUs per replica, possibly a fraction. [default: 0]",
    ),
    click.option(
        "--ray-address",
        metavar="HOST:PORT",
        help="With --engine ray: address of a running cluster, or auto for the one on this "
        "machine. [default: a local cluster that ends with the service]",
    ),
)


def replica_options(command: Command) -> Command:
    """Add --engine and the options of ``ray``.

    The command receives the fields of a `ReplicaOptions` as `replicas`, or None for ``local``.
    """

    @functools.wraps(command)
    def wrapper(*, engine: str, **values: Any) -> Any:
        given = {
            field: value
            for option, field in _FIELDS.items()
            if (value := values.pop(option)) is not None
        }
        if engine == "local":
            if given:
                option = next(option for option, field in _FIELDS.items() if field in given)
                raise click.UsageError(f"--{option.replace('_', '-')} needs --engine ray.")
            return command(replicas=None, **values)
        least, most = given.get("replicas", 1), given.get("max_replicas")
        if most is not None and most < least:
            raise click.UsageError(f"--max-replicas {most} is less than --replicas {least}.")
        from admiral.cluster.ray_session import RAY_MESSAGE

        check_extra("rayserve", *RAY_MESSAGE)
        return command(replicas=given, **values)

    wrapped: Any = wrapper
    for add_option in reversed(_OPTIONS):
        wrapped = add_option(wrapped)
    return wrapped  # type: ignore[no-any-return]
