"""``admiral serve``: answer claims over HTTP."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from admiral.cli.service_options import (
    allowed_hosts,
    check_access,
    check_port,
    open_service,
    service_options,
)
from admiral.requirements import check_extra

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from admiral.config import RetrievalConfig


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


@click.command("serve")
@replica_options
@service_options(port=8080)
def serve_command(
    kbs: tuple[str, ...],
    host: str,
    port: int,
    keys_path: Path | None,
    no_auth: bool,
    hosts: tuple[str, ...],
    places: int,
    deadline: float,
    config: RetrievalConfig,
    replicas: dict[str, Any] | None,
) -> None:
    """Answer claims over HTTP, and show a page for them.

    The settings are those of `admiral retrieve`. Ctrl-C completes the requests that were accepted.
    """
    check_access(host, keys_path, no_auth)
    check_port(host, port)
    import uvicorn

    from admiral.serving.access import read_api_keys, timed_connections
    from admiral.serving.application import create_app
    from admiral.serving.ray_replicas import ReplicaOptions, front_of_replicas
    from admiral.serving.service import ServiceLimits

    api_keys = read_api_keys(keys_path) if keys_path is not None else []
    logging.getLogger("admiral.serving").setLevel(logging.INFO)
    limits = ServiceLimits(places=places, deadline=deadline)
    with ExitStack() as stack:
        app: ASGIApp
        if replicas is None:
            service = open_service(kbs, config, places, deadline)
            app = create_app(service, api_keys, allowed_hosts(host, hosts))
        else:
            app = stack.enter_context(
                front_of_replicas(
                    kbs or (config.kb,),
                    config,
                    limits,
                    ReplicaOptions(**replicas),
                    api_keys,
                    allowed_hosts(host, hosts),
                )
            )
        uvicorn.run(
            app,
            host=host,
            port=port,
            # The middleware logs requests; this log would hold titles and words of queries.
            access_log=False,
            lifespan="on" if replicas is None else "off",
            http=timed_connections(limits.read_seconds),
        )
