"""The adapters with the client of a service in place of a system."""

import asyncio

import pytest

pytest.importorskip("haystack", reason="needs Haystack: pip install '.[haystack]'")
pytest.importorskip("langchain_core", reason="needs LangChain: pip install '.[langchain]'")

from haystack import default_from_dict
from haystack.core.serialization import component_to_dict
from haystack.utils import Secret

from admiral import AdmiralError
from admiral.adapters import haystack, langchain
from admiral.client import Client
from admiral.serving.application import create_app
from admiral.serving.service import Service
from tests.admiral.serving.live_service import EMMY, listening, quick_config

KEY = "a-key-that-is-long-enough"


@pytest.fixture(scope="module")
def service(user_cache):
    return Service.open(["demo"], quick_config(hops="1"))


@pytest.fixture(scope="module")
def url(service):
    with listening(create_app(service, [KEY.encode()])) as address:
        yield address


@pytest.fixture(scope="module")
def expected(service, url):
    result = service.queue(None).system.retrieve(EMMY, hops=1)
    return [document.title for document in result.documents[:3]]


def test_langchain(url, expected):
    with Client(url, api_key=KEY) as client:
        retriever = langchain.AdmiralRetriever(system=client, k=3, hops=1)
        assert [document.id for document in retriever.invoke(EMMY)] == expected
        assert [each.id for each in asyncio.run(retriever.ainvoke(EMMY))] == expected
        first, second = retriever.batch([EMMY, "A river of Paris."])
        assert [document.id for document in first] == expected
        assert asyncio.run(retriever.abatch([EMMY, "A river of Paris."])) == [first, second]
        assert all(document.page_content for document in second)


def test_llamaindex(url, expected):
    pytest.importorskip("llama_index.core", reason="needs the package llama-index-core")
    from admiral.adapters import llamaindex

    with Client(url, api_key=KEY) as client:
        retriever = llamaindex.AdmiralRetriever(client, k=3, hops=1)
        nodes = retriever.retrieve(EMMY)
        assert [node.node_id for node in nodes] == expected
        assert asyncio.run(retriever.aretrieve(EMMY)) == nodes


def test_haystack(url, expected, monkeypatch):
    monkeypatch.setenv("ADMIRAL_TEST_KEY", KEY)
    key = Secret.from_env_var("ADMIRAL_TEST_KEY")
    made = haystack.AdmiralRetriever(url=url, api_key=key, top_k=3, hops=1)
    retriever = default_from_dict(haystack.AdmiralRetriever, component_to_dict(made, "r"))
    outputs = retriever.run(EMMY)
    assert [document.id for document in outputs["documents"]] == expected
    assert asyncio.run(retriever.run_async(EMMY))["documents"] == outputs["documents"]
    retriever.close()
    with pytest.raises(AdmiralError, match="leave `model` and `settings` out"):
        haystack.AdmiralRetriever(url=url, model="mini")
