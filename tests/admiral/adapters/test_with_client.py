"""The adapters with the client of a service in place of a system."""

import asyncio

import pytest

pytest.importorskip("haystack", reason="needs Haystack: pip install '.[haystack]'")
pytest.importorskip("langchain_core", reason="needs LangChain: pip install '.[langchain]'")

from haystack.utils import Secret

from admiral import AdmiralError
from admiral.adapters import haystack, langchain
from admiral.client import AsyncClient, Client
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


def test_langchain_with_an_asynchronous_client(url, expected):
    claims = [EMMY, " ", "A river of Paris."]

    async def run():
        async with AsyncClient(url, api_key=KEY) as client:
            retriever = langchain.AdmiralRetriever(system=client, k=3, hops=1)
            documents = await retriever.ainvoke(EMMY)
            assert [document.id for document in documents] == expected
            first, empty, last = await retriever.abatch(claims, return_exceptions=True)
            assert first == documents
            assert isinstance(empty, AdmiralError)
            assert len(last) == 3
            for use in (lambda: retriever.invoke(EMMY), lambda: retriever.batch([EMMY])):
                with pytest.raises(AdmiralError, match="give a Client for invoke and batch"):
                    use()
            with Client(url, api_key=KEY) as blocking:
                other = langchain.AdmiralRetriever(system=blocking, k=3, hops=1)
                assert await other.abatch([EMMY, claims[2]]) == [first, last]

    asyncio.run(run())


def test_llamaindex(url, expected):
    pytest.importorskip("llama_index.core", reason="needs the package llama-index-core")
    from admiral.adapters import llamaindex

    with Client(url, api_key=KEY) as client:
        retriever = llamaindex.AdmiralRetriever(client, k=3, hops=1)
        nodes = retriever.retrieve(EMMY)
        assert [node.node_id for node in nodes] == expected

    async def run():
        async with AsyncClient(url, api_key=KEY) as client:
            retriever = llamaindex.AdmiralRetriever(client, k=3, hops=1)
            assert await retriever.aretrieve(EMMY) == nodes
            with pytest.raises(AdmiralError, match="give a Client for retrieve"):
                retriever.retrieve(EMMY)

    asyncio.run(run())


def test_haystack(url, expected, monkeypatch):
    monkeypatch.setenv("ADMIRAL_TEST_KEY", KEY)
    key = Secret.from_env_var("ADMIRAL_TEST_KEY")
    made = haystack.AdmiralRetriever(url=url, api_key=key, top_k=3, hops=1)
    retriever = haystack.AdmiralRetriever.from_dict(made.to_dict())
    outputs = retriever.run(EMMY)
    assert [document.id for document in outputs["documents"]] == expected
    assert asyncio.run(retriever.run_async(EMMY))["documents"] == outputs["documents"]
    retriever.close()
    with pytest.raises(AdmiralError, match="leave `model` and `settings` out"):
        haystack.AdmiralRetriever(url=url, model="mini")
