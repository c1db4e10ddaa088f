"""``admiral serve``: answer claims over HTTP."""

from __future__ import annotations

import ipaddress
import logging
from pathlib import Path

import click

from admiral.cli.options import config_options, overrides, setting_options
from admiral.errors import AdmiralError


@click.command("serve")
@click.option(
    "--kb",
    "kbs",
    multiple=True,
    metavar="NAME|DIR",
    help="Knowledge base; repeatable. The first is the default of requests. [default: demo]",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port."
)
@click.option(
    "--api-keys",
    "keys_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of API keys, one per line. Requests must give one of them.",
)
@click.option("--no-auth", is_flag=True, help="Serve other machines without API keys.")
@click.option(
    "--places",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="Claims that may wait or be processed at a time.",
)
@click.option(
    "--deadline",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="Time after which a request is given up.",
)
@setting_options("hops", "max_hops", "top_k", "beam_size", "evidence", "reranker", "judge")
@setting_options("stop_at", "model", "device", "threads")
@config_options
def serve_command(
    kbs: tuple[str, ...],
    host: str,
    port: int,
    keys_path: Path | None,
    no_auth: bool,
    places: int,
    deadline: float,
    config_path: Path | None,
    assignments: tuple[str, ...],
    **flags: object,
) -> None:
    """Answer claims over HTTP, and show a page for them.

    The settings are those of `admiral retrieve`. Ctrl-C completes the requests that were accepted.
    """
    if not (_is_loopback(host) or keys_path or no_auth):
        raise click.UsageError(
            f"--host {host} is reached from other machines; give --api-keys FILE, or --no-auth."
        )
    from admiral.config import load_config

    config = load_config(config_path, overrides(assignments, flags))
    try:
        import uvicorn

        from admiral.serving.access import read_api_keys
        from admiral.serving.application import create_app
        from admiral.serving.service import Service, ServiceLimits
    except ImportError as error:
        raise AdmiralError(
            f"admiral serve needs a package that is not installed ({error}). Install it with "
            "`pip install 'admiral-retrieval[serve]'`"
        ) from error
    api_keys = read_api_keys(keys_path) if keys_path is not None else []
    limits = ServiceLimits(places=places, deadline=deadline)
    service = Service.open(kbs or (config.kb,), config, limits)
    logging.getLogger("admiral.serving").setLevel(logging.INFO)
    # The middleware logs requests; uvicorn's own log would hold titles and words of queries.
    uvicorn.run(create_app(service, api_keys), host=host, port=port, access_log=False)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
