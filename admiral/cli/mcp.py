"""``admiral mcp``: tools for assistants, by the Model Context Protocol."""

from __future__ import annotations

import asyncio
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
    places: int,
    deadline: float,
    config: RetrievalConfig,
) -> None:
    """Offer retrieval as tools to assistants (MCP).

    The tools are find_evidence, prove, search_titles and read_document.
    """
    check_access(host, keys_path, no_auth)
    if transport != "stdio":
        check_port(host, port)
    with needed_package("serve,mcp"):
        import uvicorn

        from admiral.serving.access import read_api_keys
        from admiral.serving.mcp_server import create_mcp, http_app
    api_keys = read_api_keys(keys_path) if keys_path is not None else []
    service = open_service(kbs, config, places, deadline)
    try:
        if transport == "stdio":
            asyncio.run(create_mcp(service).run_stdio_async())
        else:
            logging.getLogger("admiral.serving").setLevel(logging.INFO)
            app = http_app(service, host, api_keys)
            uvicorn.run(app, host=host, port=port, access_log=False)
    finally:
        service.close()
