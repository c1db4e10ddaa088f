"""A client of `admiral serve` with the methods of `Admiral`: `Client` and `AsyncClient`."""

from admiral.client.service_client import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
