"""A client of `admiral serve` with the methods of `Admiral`: `Client` and `AsyncClient`."""

from admiral.client.async_client import AsyncClient
from admiral.client.service_client import Client

__all__ = ["AsyncClient", "Client"]
