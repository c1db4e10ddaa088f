"""The MCP server, driven by the client of the official SDK."""

import asyncio
import json

import pytest

pytest.importorskip("mcp", reason="needs the MCP SDK: pip install '.[mcp]'")

import httpx
from mcp import Client, StdioServerParameters

from admiral import Admiral
from admiral.serving.access import AccessMiddleware
from admiral.serving.mcp_server import LateService, create_mcp
from admiral.serving.service import Service
from tests.admiral.serving.live_service import EMMY, listening, quick_config

KEY = "a-key-that-is-long-enough"


@pytest.fixture(scope="module")
def service(user_cache):
    opened = Service({"demo": Admiral.from_pretrained(config=quick_config())}, places=4)
    yield opened
    opened.close()


async def call(client, tool, **arguments):
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    # Models without structured output read the same as text.
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


async def failure(client, tool, **arguments):
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    text = answer.content[0].text
    return text


def test_the_tools_have_schemas(service):
    async def run():
        async with Client(create_mcp(LateService(lambda: service))) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {
            *("find_evidence", "prove", "check_citation", "search_titles", "read_document")
        }
        for tool in tools.values():
            assert tool.description
            assert tool.output_schema
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint
            assert "context" not in tool.input_schema["properties"]
            assert ("kb" in tool.input_schema["properties"]) == (tool.name != "check_citation")

    asyncio.run(run())


def test_evidence_is_found_hop_by_hop_and_page_by_page(service):
    progress = []

    async def on_progress(done, total, message):
        progress.append((done, message))

    async def run():
        async with Client(create_mcp(LateService(lambda: service))) as client:
            answer = await client.call_tool(
                "find_evidence", {"claim": EMMY, "hops": 2}, progress_callback=on_progress
            )
            page = answer.structured_content
            assert page["claim"] == EMMY
            assert page["verdict"]["label"] in ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
            assert 0 < len(page["evidence"]) <= 8
            assert len(page["documents"]) == 5
            assert page["proof"]
            assert len(json.dumps(page)) < 6000
            assert [number for number, _ in progress] == [1, 2]
            assert str(progress[0][1]).startswith("Hop 1: ")
            titles = page["documents"]
            while page["next_cursor"]:
                page = await call(
                    client, "find_evidence", claim=EMMY, limit=50, cursor=page["next_cursor"]
                )
                titles += page["documents"]
            result = service.queue(None).system.retrieve(EMMY, hops=2)
            assert titles == [document.title for document in result.documents]

    asyncio.run(run())
    assert service.queue(None).taken == 0


def test_proofs_search_and_documents(service):
    async def run():
        async with Client(create_mcp(LateService(lambda: service))) as client:
            evidence = [{"title": "Paris", "text": "Paris is the capital of France."}]
            claim = "Paris is the capital of France."
            proof = await call(client, "prove", claim=claim, evidence=evidence)
            assert proof["verdict"]["label"] == "SUPPORTS"
            assert "[Paris]" in proof["proof"][0]["words"]
            assert proof["proof"][0]["title"] == "Paris"
            first = await call(client, "search_titles", query="Seth Meyers", limit=2)
            assert first["documents"][0]["title"] == "Seth Meyers"
            second = await call(
                client, "search_titles", query="Seth Meyers", limit=2, cursor=first["next_cursor"]
            )
            titles = [each["title"] for each in first["documents"] + second["documents"]]
            assert len(set(titles)) == 4
            document = service.queue(None).system.document("Seth Meyers")
            texts = []
            cursor = None
            while True:
                page = await call(
                    client, "read_document", title="Seth Meyers", limit=1, cursor=cursor
                )
                texts += [each["text"] for each in page["sentences"]]
                cursor = page["next_cursor"]
                if cursor is None:
                    break
            assert tuple(texts) == document.sentences

    asyncio.run(run())


def test_errors_name_the_field_and_the_remedy(service):
    async def run():
        async with Client(create_mcp(LateService(lambda: service))) as client:
            assert "kb: there is no" in await failure(
                client, "find_evidence", claim=EMMY, kb="none"
            )
            assert "claim" in await failure(client, "find_evidence", claim="x" * 5001)
            assert "field 'claim': ' '" in await failure(client, "find_evidence", claim=" ")
            assert await failure(client, "find_evidence") == "field 'claim': is missing"
            assert "field 'hops': -1 should be" in await failure(
                client, "find_evidence", claim=EMMY, hops=-1
            )
            evidence = [{"title": "Paris", "text": 7}]
            assert await failure(client, "prove", claim=EMMY, evidence=evidence) == (
                "field 'evidence[0].text': 7 should be a valid string"
            )
            assert "title: " in await failure(client, "read_document", title="No such title")
            assert "cursor" in await failure(client, "read_document", title="Paris", cursor=-1)
            with service.queue(None).reserve(4):
                assert "places" in await failure(client, "find_evidence", claim=EMMY)

    asyncio.run(run())


def test_streamable_http_asks_for_the_key(service):
    async def run(url):
        async with httpx.AsyncClient() as plain:
            assert (await plain.post(f"{url}/mcp", json={})).status_code == 401
        async with Client(f"{url}/mcp") as client:
            await client.list_tools()

    def app(*keys):
        return AccessMiddleware(
            create_mcp(LateService(lambda: service)).streamable_http_app(), keys
        )

    refused = pytest.raises(BaseException)  # noqa: PT011 - the SDK raises a group
    with listening(app(KEY.encode())) as url, refused:
        asyncio.run(run(url))
    with listening(app()) as url:

        async def read():
            async with Client(f"{url}/mcp") as client:
                page = await call(client, "read_document", title="Paris")
                assert page["title"] == "Paris"

        asyncio.run(read())


def test_the_command_speaks_over_standard_input(environment, command):
    settings = ["--threads", "1", "--reranker", "bm25", "--judge", "lexical", "--hops", "1"]
    server = StdioServerParameters(
        command=command[0], args=[*command[1:], "mcp", *settings], env=environment
    )

    async def run():
        async with Client(server) as client:
            assert client.server_info is not None
            assert client.server_info.name == "admiral"
            page = await call(client, "find_evidence", claim=EMMY, hops=1)
            assert page["evidence"]

    asyncio.run(run())


def test_a_citation_is_checked_against_the_text_of_its_source(service):
    bridge = (
        "The Eastern Bridge was opened in 1932 by Governor Ada Lane. It crosses the river Orr. "
    )
    text = bridge + "It was built by Harwood and Sons over three years and cost two millions. " * 4

    async def run():
        async with Client(create_mcp(LateService(lambda: service))) as client:
            given = {"source_text": text, "page": "Eastern Bridge"}
            claims = ("The bridge was opened in 1932.", "Otto Klein sang in Vienna in 1874.")
            good, bad = [
                await call(client, "check_citation", claim=claim, **given) for claim in claims
            ]
            short = await call(client, "check_citation", claim=claims[0], source_text=bridge)
            assert "at most" in await failure(
                client, "check_citation", claim="x" * 5001, source_text=text
            )
        assert good["status"] == bad["status"] == "scored"
        assert good["probability"] > bad["probability"]
        assert "1932" in good["passage"]
        assert (good["finding"], good["missing"], good["denied_by"]) == ("supported", [], "")
        assert (bad["decision"], bad["finding"]) == ("flag", "not_found")
        assert bad["summary"] == "Check: it was not found in the source"
        assert short["finding"] is None
        assert (short["status"], short["decision"]) == ("too_short", "not_checked")

    asyncio.run(run())
