"""Host names, origins and headers, over a live server."""

import asyncio
import socket

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from admiral.cli.serve import allowed_hosts
from admiral.serving.access import AccessMiddleware
from tests.admiral.serving.live_service import listening


async def answer(request):
    await request.body()
    return PlainTextResponse("done")


def application(hosts):
    app = Starlette(routes=[Route("/healthz", answer, methods=["GET", "POST"])])
    return AccessMiddleware(app, hosts=hosts)


@pytest.fixture(scope="module")
def url():
    app = application(allowed_hosts("127.0.0.1", ("facts.example",)))
    with listening(app, lifespan="off") as address:
        yield address


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((None, 200), ("localhost:8080", 200), ("LOCALHOST", 200), ("127.0.0.1", 200)),
        *(("[::1]:80", 200), ("192.0.2.7:8080", 200), ("facts.example", 200)),
        *((socket.gethostname(), 200), ("evil.example", 421), ("evil.example:8080", 421)),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
    ],
)
def test_only_its_own_names_are_served(url, host, status):
    """Else a page could make its own name point here, and read what is answered."""
    response = httpx.get(f"{url}/healthz", headers={"Host": host} if host else None)
    assert response.status_code == status
    if status == 421:
        assert "--allowed-host" in response.text
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("same", 200),
        ("https://facts.example", 200),
        ("https://evil.example", 403),
        ("http://localhost:3000", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
    ],
)
def test_pages_of_other_origins_change_nothing(url, origin, status):
    headers = {"Origin": url if origin == "same" else origin} if origin else {}
    assert httpx.post(f"{url}/healthz", headers=headers, content=b"x").status_code == status
    assert httpx.get(f"{url}/healthz", headers=headers).status_code == 200


def test_any_host_on_request():
    assert allowed_hosts("127.0.0.1", ("*",)) is None

    async def ask():
        transport = httpx.ASGITransport(application(None))
        async with httpx.AsyncClient(transport=transport, base_url="http://any.example") as client:
            return (await client.get("/healthz")).status_code

    assert asyncio.run(ask()) == 200
