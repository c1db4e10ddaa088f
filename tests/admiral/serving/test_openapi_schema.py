"""Requests that schemathesis makes up from the API's own OpenAPI schema."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")

import schemathesis
from fastapi import FastAPI
from hypothesis import settings

from admiral import Admiral
from admiral.serving.application import create_app
from admiral.serving.service import Service, ServiceLimits
from tests.admiral.serving.live_service import quick_config


@pytest.fixture(scope="module")
def service(user_cache: None) -> Iterator[Service]:
    limits = ServiceLimits(places=8, claim_characters=300, deadline=60)
    config = quick_config(hops="1", max_hops=1, rerank_documents=2, top_k=5)
    opened = Service({"demo": Admiral.from_pretrained(config=config)}, limits)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def application(service: Service) -> FastAPI:
    return create_app(service)


@pytest.fixture
def api_schema(application: FastAPI) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_asgi("/openapi.json", application)


schema = schemathesis.pytest.from_fixture("api_schema")


@schema.parametrize()
@settings(max_examples=8)
def test_every_request_has_an_answer_of_the_schema(case: schemathesis.Case) -> None:
    response = case.call()
    case.validate_response(response)
    if response.status_code >= 400:
        record = response.json()
        assert record["status"] == response.status_code
        assert record["detail"]
        assert record["remedy"]
