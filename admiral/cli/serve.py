"""``admiral serve`` and ``admiral mcp``: answer claims over HTTP, and the tools of assistants."""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import platformdirs

from admiral.cli.options import (
    config_options,
    file_limit_options,
    overrides,
    setting_options,
)
from admiral.errors import AdmiralError
from admiral.requirements import check_extra

if TYPE_CHECKING:
    from admiral.config import RetrievalConfig
    from admiral.io.limited_reading import FileLimits


Command = TypeVar("Command", bound=Callable[..., Any])

_SETTINGS = (
    *("hops", "max_hops", "top_k", "beam_size", "evidence", "reranker", "judge", "stop_at"),
    *("verifier", "verifier_model", "base_url", "model", "device", "threads"),
)


def service_options(port: int) -> Callable[[Command], Command]:
    """Return a decorator that adds the options; settings are passed as `config`.

    `port`: default of ``--port``.
    """

    def add(command: Command) -> Command:
        @functools.wraps(command)
        def configured(
            config_path: Path | None, assignments: tuple[str, ...], **given: Any
        ) -> object:
            from admiral.config import load_config

            flags = {name: given.pop(name) for name in _SETTINGS}
            config = load_config(config_path, overrides(assignments, flags))
            return command(config=config, **given)

        for option in reversed((*_options(port), setting_options(*_SETTINGS), config_options)):
            configured = option(configured)
        return configured  # type: ignore[return-value]

    return add


def _options(port: int) -> tuple[Callable[..., Any], ...]:
    return (
        click.option(
            "--kb",
            "kbs",
            multiple=True,
            metavar="NAME|DIR",
            help="Knowledge base; repeatable. The first is the default of requests. "
            "[default: demo]",
        ),
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
        ),
        click.option(
            "--port", type=click.IntRange(0, 65535), default=port, show_default=True, help="Port."
        ),
        click.option(
            "--api-keys",
            "keys_path",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="File of API keys, one per line. Requests must give one of them.",
        ),
        click.option(
            "--allowed-host",
            "hosts",
            multiple=True,
            metavar="NAME",
            help="Further host name to accept in requests, and as the origin of pages that use "
            "the service, in addition to --host and this machine's own names and addresses; "
            "repeatable. "
            "'*' accepts any.",
        ),
        click.option("--no-auth", is_flag=True, help="Serve other machines without API keys."),
        click.option(
            "--places",
            type=click.IntRange(min=1),
            default=64,
            show_default=True,
            help="Claims that may wait or be processed at a time.",
        ),
        click.option(
            "--deadline",
            type=click.FloatRange(min=0, min_open=True),
            default=120.0,
            show_default=True,
            metavar="SECONDS",
            help="Time after which a request is given up.",
        ),
    )


def allowed_hosts(host: str, given: tuple[str, ...]) -> set[str] | None:
    """Return the host names that requests may use, or None for any."""
    if "*" in given:
        return None
    return {host, "localhost", socket.gethostname(), *given}


def check_access(host: str, port: int, keys_path: Path | None, no_auth: bool) -> list[bytes]:
    """Return the API keys, once the address can be listened on, before models are loaded.

    Raises an error of usage if other machines could use the service without being asked.
    """
    if not (_is_loopback(host) or keys_path or no_auth):
        raise click.UsageError(
            f"--host {host} is reached from other machines; give --api-keys FILE, or --no-auth."
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise AdmiralError(
            f"--host {host} --port {port}: cannot be listened on ({error.strerror}). Choose "
            "another port"
        ) from error
    from admiral.serving.access import read_api_keys

    return [] if keys_path is None else read_api_keys(keys_path)


def default_uploads(host: str, hosts: tuple[str, ...]) -> Path | None:
    """Return the folder of uploads; None if others than the user may reach the service."""
    is_own = _is_loopback(host) and not hosts
    return platformdirs.user_data_path("admiral") / "uploads" if is_own else None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@click.command("serve")
@service_options(port=8080)
@click.option(
    "--uploads",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the knowledge bases that users make of files which they upload. [default: one "
    "of your own on a loopback address without --allowed-host; elsewhere none, so that nothing can "
    "be uploaded]",
)
@click.option("--no-uploads", is_flag=True, help="Let nobody upload files.")
@file_limit_options
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
    uploads: Path | None,
    no_uploads: bool,
    limits: FileLimits,
) -> None:
    """Answer claims over HTTP, and show a page for them.

    The first knowledge base of sources, if there is one, also checks the citations of pages, at
    /audit. The settings are those of `admiral retrieve`. Ctrl-C completes the requests that were
    accepted.
    """
    if uploads is not None and no_uploads:
        raise click.UsageError("--uploads and --no-uploads exclude each other.")
    api_keys = check_access(host, port, keys_path, no_auth)
    from admiral.citations.citation_settings import CitationConfig
    from admiral.kb import holds_sources, locate
    from admiral.serving.application import create_app, log_as_json, serve_application
    from admiral.serving.document_uploads import Uploads
    from admiral.serving.page_audits import PageAudits
    from admiral.serving.service import Service

    log_as_json()
    kbs = kbs or (config.kb,)
    service = Service.open(kbs, config, places, deadline)
    sources = next(filter(holds_sources, map(locate, kbs)), None)
    settings = CitationConfig(device=config.device, threads=config.threads)
    audits = None if sources is None else PageAudits(sources, settings, service.jobs)
    folder = None if no_uploads else uploads or default_uploads(host, hosts)
    opened = None if folder is None else Uploads(service, folder, limits)
    app = create_app(service, api_keys, allowed_hosts(host, hosts), audits, opened)
    logging.getLogger("admiral.serving").info("/openapi.json describes the API")
    serve_application(app, host, port)


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
    api_keys = [] if transport == "stdio" else check_access(host, port, keys_path, no_auth)
    from admiral.serving.access import AccessMiddleware
    from admiral.serving.application import log_as_json, serve_application
    from admiral.serving.mcp_server import LateService, create_mcp
    from admiral.serving.service import Service, check_kbs

    kbs = kbs or (config.kb,)
    check_kbs(kbs, config)
    # The model is opened by the first call of a tool.
    service = LateService(lambda: Service.open(kbs, config, places, deadline))
    server = create_mcp(service)
    try:
        if transport == "stdio":
            asyncio.run(server.run_stdio_async())
        else:
            log_as_json()
            app = server.streamable_http_app(host=host)
            serve_application(
                AccessMiddleware(app, api_keys, allowed_hosts(host, hosts)), host, port
            )
    finally:
        service.close()
