"""``admiral serve``: answer claims over HTTP."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from admiral.cli.replica_options import replica_options
from admiral.cli.service_options import (
    allowed_hosts,
    check_access,
    check_port,
    open_service,
    service_options,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from admiral.config import RetrievalConfig


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
