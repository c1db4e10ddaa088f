"""Options that `admiral serve` and `admiral mcp` share."""

from __future__ import annotations

import functools
import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from admiral.cli.options import config_options, overrides, setting_options
from admiral.errors import AdmiralError

if TYPE_CHECKING:
    from admiral.config import RetrievalConfig
    from admiral.serving.service import Service

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
            from admiral.requirements import check_reranker

            flags = {name: given.pop(name) for name in _SETTINGS}
            config = load_config(config_path, overrides(assignments, flags))
            check_reranker(config.reranker)  # now, rather than after the model is loaded
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
            "the service, besides --host, the machine's own name and its addresses; repeatable. "
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


def check_access(host: str, keys_path: Path | None, no_auth: bool) -> None:
    """Raise an error of usage if other machines could use the service without being asked."""
    if not (_is_loopback(host) or keys_path or no_auth):
        raise click.UsageError(
            f"--host {host} is reached from other machines; give --api-keys FILE, or --no-auth."
        )


def check_port(host: str, port: int) -> None:
    """Raise `AdmiralError` if an address cannot be listened on, before models are loaded."""
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


def open_service(
    kbs: tuple[str, ...], config: RetrievalConfig, places: int, deadline: float
) -> Service:
    """Open the knowledge bases of the options.

    Raises AdmiralError if one cannot be opened.
    """
    from admiral.serving.kb_names import check_kbs
    from admiral.serving.service import Service, ServiceLimits

    kbs = kbs or (config.kb,)
    check_kbs(kbs, config)  # before models are loaded
    return Service.open(kbs, config, ServiceLimits(places=places, deadline=deadline))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
