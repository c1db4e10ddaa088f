"""``admiral serve``: answer claims over HTTP."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admiral.cli.service_options import (
    check_access,
    check_port,
    needed_package,
    open_service,
    service_options,
)

if TYPE_CHECKING:
    from admiral.config import RetrievalConfig


@click.command("serve")
@service_options(port=8080)
def serve_command(
    kbs: tuple[str, ...],
    host: str,
    port: int,
    keys_path: Path | None,
    no_auth: bool,
    places: int,
    deadline: float,
    config: RetrievalConfig,
) -> None:
    """Answer claims over HTTP, and show a page for them.

    The settings are those of `admiral retrieve`. Ctrl-C completes the requests that were accepted.
    """
    check_access(host, keys_path, no_auth)
    check_port(host, port)
    with needed_package("serve"):
        import uvicorn

        from admiral.serving.access import read_api_keys
        from admiral.serving.application import create_app
    api_keys = read_api_keys(keys_path) if keys_path is not None else []
    service = open_service(kbs, config, places, deadline)
    logging.getLogger("admiral.serving").setLevel(logging.INFO)
    # The middleware logs requests; uvicorn's own log would hold titles and words of queries.
    uvicorn.run(create_app(service, api_keys), host=host, port=port, access_log=False)
