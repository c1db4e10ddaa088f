"""``admiral mcp``: tools for assistants, by the Model Context Protocol."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
    from admiral.config import RetrievalConfig
    from admiral.serving.service import Service


@click.command("mcp")
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
    help="Standard input and output, for a program that starts this one, or streamable HTTP at "
    "/mcp on --host and --port.",
)
@service_options(port=8081)
def mcp_command(
    transport: str,
    kbs: tuple[str, ...],
    host: str,
    port: int,
    keys_path: Path | None,
    no_auth: bool,
    hosts: tuple[str, ...],
    places: int,
    deadline: float,
    config: RetrievalConfig,
) -> None:
    """Offer retrieval as tools to assistants (MCP).

    The tools are find_evidence, prove, check_citation, search_titles and read_document.
    """
    check_extra("mcp", "admiral mcp")
    check_access(host, keys_path, no_auth)
    if transport == "stdio":
        _serve_stdio(
            kbs or (config.kb,), config, partial(open_service, kbs, config, places, deadline)
        )
        return
    check_port(host, port)
    import uvicorn

    from admiral.serving.access import read_api_keys, timed_connections
    from admiral.serving.mcp_http import http_app

    api_keys = read_api_keys(keys_path) if keys_path is not None else []
    service = open_service(kbs, config, places, deadline)
    try:
        logging.getLogger("admiral.serving").setLevel(logging.INFO)
        uvicorn.run(
            http_app(service, host, api_keys, allowed_hosts(host, hosts)),
            host=host,
            port=port,
            access_log=False,
            http=timed_connections(service.limits.read_seconds),
        )
    finally:
        service.close()


def _serve_stdio(
    kbs: Sequence[str], config: RetrievalConfig, open_late: Callable[[], Service]
) -> None:
    """Answer at once; the model is opened by the first call of a tool."""
    from admiral.serving.kb_names import check_kbs
    from admiral.serving.late_service import LateService
    from admiral.serving.mcp_server import create_mcp

    check_kbs(kbs, config)
    service = LateService(open_late)
    try:
        asyncio.run(create_mcp(service).run_stdio_async())
    finally:
        service.close()
