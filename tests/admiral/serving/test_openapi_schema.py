"""Requests that schemathesis makes up from the API's own OpenAPI schema, good and bad ones."""

from collections import Counter, defaultdict
from contextlib import suppress

import pytest

pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from admiral import Admiral
from admiral.serving.application import create_app
from admiral.serving.service import Service
from tests.admiral.serving.live_service import quick_config

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@pytest.fixture(scope="module")
def service(user_cache):
    config = quick_config(hops="1", max_hops=1, rerank_documents=2, top_k=5)
    opened = Service({"demo": Admiral.from_pretrained(config=config)}, places=8, deadline=60)
    yield opened
    opened.close()


def send(service, mode, examples, statuses):
    """Send this many requests to each operation, and count the statuses of each path."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(service))
    for result in schema.get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=examples,
            phases=[Phase.generate],
            database=None,
            suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case):
            response = case.call()
            statuses[case.path][response.status_code] += 1
            case.validate_response(response, checks=CHECKS)

        # Nothing can be wrong with requests that have no parameters.
        with suppress(Unsatisfiable):
            check()


@pytest.mark.parametrize("mode", list(GenerationMode), ids=str)
def test_every_request_has_an_answer_of_the_schema(service, mode, monkeypatch):
    monkeypatch.setattr(service, "close", lambda: None)  # schemathesis shuts the application down
    statuses = defaultdict(Counter)
    send(service, mode, 4, statuses)
    assert {"/v1/retrieve", "/v1/retrieve/stream", "/v1/prove", "/v1/graph"} <= statuses.keys()
    assert service.queue(None).taken == 0
