"""``admiral serve`` and ``admiral mcp``: answer claims over HTTP, and the tools of assistants."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import click
import platformdirs
from pydantic import Field

from admiral.cli import options
from admiral.cli.options import command, option
from admiral.errors import AdmiralError
from admiral.requirements import check_extra


class _Serving(options.Configured):
    own: ClassVar[tuple[str, ...]] = (
        *("hops", "max_hops", "top_k", "beam_size", "evidence", "reranker", "judge", "stop_at"),
        *("verifier", "verifier_model", "base_url", "model", "device", "threads"),
    )

    kbs: Annotated[tuple[str, ...], option("--kb", metavar="NAME|DIR")] = ()
    """Knowledge base; repeatable. The first is the default of requests. [default: demo]"""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)]
    api_keys: Annotated[Path, option("--api-keys", metavar="FILE")] | None = None
    """File of API keys, one per line. Requests must give one of them."""
    allowed_hosts: Annotated[tuple[str, ...], option("--allowed-host", metavar="NAME")] = ()
    """Further host name to accept in requests, and as the origin of pages that use the service, in
    addition to --host and this machine's own names and addresses; repeatable. '*' accepts any."""
    no_auth: bool = False
    """Serve other machines without API keys."""
    places: options.Positive = 64
    """Claims that may wait or be processed at a time."""
    deadline: Annotated[float, Field(gt=0), option("--deadline", metavar="SECONDS")] = 120.0
    """Time after which a request is given up."""

    def keys(self) -> list[bytes]:
        """Return the API keys, once it is clear that the address can be listened on."""
        return check_access(self.host, self.port, self.api_keys, self.no_auth)


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


class Serve(_Serving, options.FileLimitations):
    """Answer claims over HTTP, and show a page for them.

    The first knowledge base of sources, if there is one, also checks the citations of pages, at
    /audit. The settings are those of `admiral retrieve`. Ctrl-C completes the requests that were
    accepted.

    For example:
      admiral serve --kb my-kb
      admiral serve --kb my-kb --host 0.0.0.0 --api-keys keys.txt
    """

    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """Port."""
    uploads: Annotated[Path, option("--uploads", metavar="DIR")] | None = None
    """Folder of the knowledge bases that users make of files which they upload. [default: one of
    your own on a loopback address without --allowed-host; elsewhere none, so that nothing can be
    uploaded]"""
    no_uploads: bool = False
    """Let nobody upload files."""

    def run(self) -> None:
        if self.uploads is not None and self.no_uploads:
            raise click.UsageError("--uploads and --no-uploads exclude each other.")
        config, keys = self.retrieval(), self.keys()
        from admiral.citations.citation_settings import CitationConfig
        from admiral.kb import holds_sources, locate
        from admiral.serving.application import create_app, log_as_json, serve_application
        from admiral.serving.document_uploads import Uploads
        from admiral.serving.page_audits import PageAudits
        from admiral.serving.service import Service

        log_as_json()
        kbs = self.kbs or (config.kb,)
        service = Service.open(kbs, config, self.places, self.deadline)
        sources = next(filter(holds_sources, map(locate, kbs)), None)
        settings = CitationConfig(device=config.device, threads=config.threads)
        audits = None if sources is None else PageAudits(sources, settings, service.jobs)
        folder = self.uploads or default_uploads(self.host, self.allowed_hosts)
        opened = None
        if folder is not None and not self.no_uploads:
            opened = Uploads(service, folder, self.limits)
        hosts = allowed_hosts(self.host, self.allowed_hosts)
        app = create_app(service, keys, hosts, audits, opened)
        logging.getLogger("admiral.serving").info("/openapi.json describes the API")
        serve_application(app, self.host, self.port)


class Mcp(_Serving):
    """Offer retrieval as tools to assistants (MCP).

    The tools are find_evidence, prove, check_citation, search_titles and read_document.

    For example:
      admiral mcp --kb my-kb
      admiral mcp --kb my-kb --transport http --port 8081
    """

    transport: Literal["stdio", "http"] = "stdio"
    """Standard input and output, for a program that starts this one, or streamable HTTP at /mcp on
    --host and --port."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8081
    """Port."""

    def run(self) -> None:
        check_extra("mcp", "admiral mcp")
        config = self.retrieval()
        keys = [] if self.transport == "stdio" else self.keys()
        from admiral.serving.access import AccessMiddleware
        from admiral.serving.application import log_as_json, serve_application
        from admiral.serving.mcp_server import LateService, create_mcp
        from admiral.serving.service import Service, check_kbs

        kbs = self.kbs or (config.kb,)
        check_kbs(kbs, config)
        # The model is opened by the first call of a tool.
        service = LateService(lambda: Service.open(kbs, config, self.places, self.deadline))
        server = create_mcp(service)
        try:
            if self.transport == "stdio":
                asyncio.run(server.run_stdio_async())
            else:
                log_as_json()
                hosts = allowed_hosts(self.host, self.allowed_hosts)
                app = AccessMiddleware(server.streamable_http_app(host=self.host), keys, hosts)
                serve_application(app, self.host, self.port)
        finally:
            service.close()


serve_command, mcp_command = command(Serve), command(Mcp)
