"""The MCP server over streamable HTTP, behind the checks of the HTTP service."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from starlette.types import ASGIApp

from admiral.serving.access import AccessMiddleware
from admiral.serving.late_service import LateService
from admiral.serving.mcp_server import create_mcp
from admiral.serving.request_metrics import RequestMetrics
from admiral.serving.service import Service


def http_app(
    service: Service,
    host: str,
    api_keys: Sequence[bytes],
    hosts: Collection[str] | None = None,
) -> ASGIApp:
    """Return the application for streamable HTTP at /mcp.

    Parameters
    ----------
    service
        The open knowledge bases.
    host
        The address to listen on; on a loopback address, requests by other names are refused.
    api_keys
        Keys of which each request must give one; none for no check.
    hosts
        As for `AccessMiddleware`.
    """
    return AccessMiddleware(
        create_mcp(LateService.opened(service)).streamable_http_app(host=host),
        api_keys=api_keys,
        limits=service.limits,
        metrics=RequestMetrics(service),
        hosts=hosts,
    )
