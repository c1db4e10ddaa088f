"""Requests that schemathesis makes up from the API's own OpenAPI schema, good and bad ones."""

from contextlib import suppress

import pytest

pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")

import schemathesis
from hypothesis import given, settings
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
from admiral.serving.service import Service, ServiceLimits
from tests.admiral.serving.live_service import quick_config

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@pytest.fixture(scope="module")
def service(user_cache):
    limits = ServiceLimits(places=8, claim_characters=300, deadline=60)
    config = quick_config(hops="1", max_hops=1, rerank_documents=2, top_k=5)
    opened = Service({"demo": Admiral.from_pretrained(config=config)}, limits)
    yield opened
    opened.close()


@pytest.mark.parametrize("mode", list(GenerationMode), ids=str)
def test_every_request_has_an_answer_of_the_schema(service, mode):
    schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(service))
    statuses = {}

    for result in schema.get_all_operations():
        operation = result.ok()

        @settings(max_examples=4)
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case):
            response = case.call()
            case.validate_response(response, checks=CHECKS)
            statuses.setdefault(case.path, set()).add(response.status_code)

        # Nothing can be wrong with requests that have no parameters.
        with suppress(Unsatisfiable):
            check()
    assert {"/v1/retrieve", "/v1/retrieve/stream", "/v1/prove", "/v1/graph"} <= statuses.keys()
    assert service.queue(None).taken == 0
