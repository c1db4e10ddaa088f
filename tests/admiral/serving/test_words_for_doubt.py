"""A verdict below 0.6, and a text that is no claim, in every interface."""

import asyncio
import re
from dataclasses import replace

import pytest

pytest.importorskip("mcp", reason="needs the MCP SDK: pip install '.[mcp]'")
pytest.importorskip("playwright", reason="needs Playwright: pip install playwright")

from fastapi.testclient import TestClient
from mcp import Client
from playwright.sync_api import expect

from admiral import Admiral
from admiral.evaluation.html_report import ReportCase, report_page
from admiral.gold import GoldClaim
from admiral.io.rendering import judgement_page, render_judgement, render_result
from admiral.serving.application import create_app
from admiral.serving.mcp_server import LateService, create_mcp
from admiral.serving.service import Service
from proofs.judges.verifier_judge import VerifierJudge
from tests.admiral.browser import BROWSER_MARKS, browser, context
from tests.admiral.serving.live_service import EMMY, listening, quick_config
from tests.proofs.verifier.fixed_verifier import FixedVerifier

__all__ = ["browser", "context"]

QUESTION = "Who hosted the 66th Primetime Emmy Awards?"
GIVEN = [("Seth Meyers", "Seth Meyers hosted the 66th Primetime Emmy Awards in 2014.")]
LEANING = "leans towards supported, 46%: read the evidence"
REASON = "This is a question, which is neither true nor false; state it as a claim."
CASES = ((EMMY, LEANING), (QUESTION, f"No verdict. {REASON}"))
SURE = re.compile("✓|✗|supports|refutes", re.IGNORECASE)


@pytest.fixture(scope="module")
def service(user_cache):
    system = Admiral.from_pretrained(config=quick_config(hops=1))
    judge = VerifierJudge(FixedVerifier((0.46, 0.3, 0.24)), stop_at=0.7)
    system.stages = replace(system.stages, judge=judge)
    opened = Service({"demo": system}, places=4)
    yield opened
    opened.close()


@pytest.mark.parametrize(("claim", "told"), CASES)
def test_texts_and_pages(service, claim, told):
    with service.queue(None).open_system() as system:
        result, judgement = system.retrieve(claim), system.prove(claim, GIVEN)
    report = report_page(
        "run", [ReportCase(GoldClaim("1", claim, None, ()), result, None)], (), str
    )
    for shown in (
        render_result(result, width=1000),
        render_judgement(claim, GIVEN, judgement, width=1000),
        judgement_page(claim, GIVEN, judgement),
        "".join(report),
    ):
        shown = re.sub("<style>.*?</style>|<script>.*?</script>|</?strong>", "", shown, flags=re.S)
        assert told in shown or ("no verdict" in shown and REASON in shown)
        assert not SURE.search(shown)


def test_records(service):
    async def of_tools(body, given):
        async with Client(create_mcp(LateService(lambda: service))) as mcp:
            found = await mcp.call_tool("find_evidence", body), await mcp.call_tool("prove", given)
        return [each.structured_content for each in found]

    client = TestClient(create_app(service))
    for claim, _ in CASES:
        body = {"claim": claim}
        given = {**body, "evidence": [{"title": title, "text": text} for title, text in GIVEN]}
        records = [client.post("/v1/retrieve", json=body).json()]
        records += [client.post("/v1/prove", json=given).json()]
        for record in records + asyncio.run(of_tools(body, given)):
            if claim is QUESTION:
                assert (record["verdict"], record["warnings"]) == (None, [REASON])
            else:
                said = [record["verdict"][name] for name in ("label", "leaning", "words")]
                assert said == ["SUPPORTS", True, LEANING]


@BROWSER_MARKS[0]
@BROWSER_MARKS[1]
def test_the_page(context, service):
    with listening(create_app(service)) as url:
        page = context.new_page()
        page.goto(url)
        expect(page.locator("#kb option")).to_have_count(1)
        for cases, place in ((CASES[:1], "#result"), (CASES[1:], "#result"), (CASES, "#claims")):
            page.get_by_label("Claim, or a text").fill(" ".join(claim for claim, _ in cases))
            page.get_by_role("button", name="Find evidence").click()
            for _, told in cases:
                expect(page.locator(place)).to_contain_text(told[0].upper() + told[1:])
            assert not SURE.search(page.locator(place).inner_text())
