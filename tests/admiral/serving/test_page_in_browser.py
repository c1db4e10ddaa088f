"""The page in Chromium: claims, documents, keyboard, accessibility, hostile texts."""

import csv
import json
import re

import pytest

pytest.importorskip("playwright", reason="needs Playwright: pip install playwright")

from playwright.sync_api import expect

from admiral import Admiral, kb
from admiral.serving.application import create_app
from admiral.serving.service import Service
from tests.admiral.browser import AXE, BROWSER_MARKS, browser, context, no_serious_violation
from tests.admiral.serving.live_service import EMMY, listening, quick_config

__all__ = ["browser", "context"]

pytestmark = BROWSER_MARKS

ATTACK = "<img src=x onerror=\"document.title='attacked'\">"
HOSTILE = [
    {"title": f"{ATTACK} Meyers", "sentences": [f"{ATTACK} Seth Meyers hosted the gala."]},
    {"title": "</script><script>alert(1)</script>", "sentences": ["A comedian & a <b>host</b>."]},
    {"title": "../admin?x=1#claim=no &amp; 50%", "sentences": ["The gala was shown by NBC."]},
]


@pytest.fixture(scope="module")
def address(user_cache, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(document) + "\n" for document in HOSTILE))
    kb.build(corpus, folder / "hostile", bm25="bm25s", progress=False)
    demo = Admiral.from_pretrained(config=quick_config(judge="verifier"))
    opened = kb.KnowledgeBase.open(folder / "hostile")
    hostile = Admiral(opened, demo.checkpoint, quick_config())
    with listening(create_app(Service({"demo": demo, "hostile": hostile}))) as url:
        yield url


@pytest.fixture
def page(context, address):
    """Open the page; in the end, no script has failed and nothing was blocked or loaded."""
    opened = context.new_page()
    problems = []
    opened.on("console", lambda message: problems.append(message.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("dialog", lambda dialog: problems.append(dialog.message))
    elsewhere = []
    opened.on(
        "request",
        lambda request: (
            request.url.startswith((address, "data:", "blob:")) or elsewhere.append(request.url)
        ),
    )
    opened.goto(address)
    expect(opened.locator("#kb option")).to_have_count(2)
    yield opened
    # Chromium logs what tests refuse: connections, and requests.
    refused = re.compile(r"net::ERR_FAILED|status of 4(22|29)")
    assert [each for each in problems if not refused.search(each)] == []
    assert elsewhere == []


def find(page, claim):
    page.get_by_label("Claim, or a text").fill(claim)
    page.get_by_role("button", name="Find evidence").click()


def found(page, claim):
    find(page, claim)
    expect(page.get_by_role("status")).to_contain_text("Complete after")


def test_hops_arrive_and_the_proof_points_at_its_quotations(page):
    find(page, EMMY)
    expect(page.locator("#stage")).to_have_text(re.compile("^Hop [12]: [a-z]"))
    expect(page.locator("#hop-1")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("Complete after 2 hops")
    expect(page.locator("#stage")).to_be_empty()
    panel = page.get_by_role("region", name="Result")
    assert panel.get_by_role("article").count() >= 2
    row = panel.locator("tr.contradicts").first
    number = row.get_attribute("data-step")
    quotation = panel.locator(f'mark[data-steps~="{number}"]').first
    assert row.locator("td").nth(3).inner_text().startswith(f"“{quotation.inner_text()}”")
    expect(quotation).not_to_have_class(re.compile(r"\blit\b"))
    row.focus()
    expect(quotation).to_have_class(re.compile(r"\blit\b"))
    row.blur()
    expect(quotation).not_to_have_class(re.compile(r"\blit\b"))
    row.hover()
    expect(quotation).to_have_class(re.compile(r"\blit\b"))
    quotation.hover()
    expect(row).to_have_class(re.compile(r"\blit\b"))
    result = page.get_by_role("region", name="Documents")
    assert result.locator(".ranking li").count() == 10
    result.get_by_role("button", name="Show all").click()
    assert result.locator(".ranking li").count() > 10
    # Each arrow of the drawing is also a line of the list.
    arrows = result.locator("path.arrow").count()
    assert result.locator(".arrows li").count() == arrows > 0


def test_a_document_is_followed_and_the_claim_is_still_there(page):
    found(page, EMMY)
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    link = page.locator("#result h4 a").first
    title = link.inner_text()
    link.click()
    expect(page.get_by_role("heading", level=1, name=title)).to_be_focused()
    expect(page.locator("#sentences li").first).to_be_visible()
    page.go_back()
    expect(page.locator("#result")).to_be_visible()
    sentence = page.locator("#result a.sentence").last
    text = sentence.locator("..").inner_text()
    sentence.click()
    named = page.locator("#sentences li.named")
    expect(named).to_be_in_viewport()
    assert named.inner_text() in text
    page.get_by_role("link", name="Back to the result").click()
    expect(sentence).to_be_focused()
    expect(sentence).to_be_in_viewport()
    assert not any("retrieve" in url for url in requests)


def test_the_keyboard_is_enough(page):
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Claim, or a text")).to_be_focused()
    page.keyboard.type(EMMY)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_contain_text("Complete after")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#result tr')"):
            break
    expect(page.locator("#result tr.lit")).to_have_count(1)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#result h4 a')"):
            break
    title = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name=title)).to_be_focused()


def test_a_text_is_checked_as_a_list(page):
    requests = []

    def busy_at_first(route):
        requests.append(route.request.post_data_json["claim"])
        if len(requests) > 1:
            route.continue_()
            return
        problem = {"status": 429, "detail": "all places are taken", "remedy": "Wait"}
        route.fulfill(status=429, headers={"Retry-After": "1"}, json=problem)

    page.route("**/v1/retrieve/stream", busy_at_first)
    find(page, f"Paris is in France. {EMMY}")
    expect(page.get_by_role("status")).to_contain_text("Waiting 1 s: all places")
    expect(page.get_by_role("heading", name="2 claims")).to_be_focused()
    expect(page.get_by_role("status")).to_have_text("Complete: 2 of 2 claims.")
    assert requests == ["Paris is in France.", "Paris is in France.", EMMY]
    lines = page.locator("#claims-lines li")
    expect(lines).to_have_text(
        [re.compile("Paris is in France"), re.compile(r"✗ The 66.*: Refuted, \d+%")]
    )
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all records").click()
    records = [json.loads(line) for line in download.value.path().read_text("utf-8").splitlines()]
    assert [(each["id"], each["claim"]) for each in records] == [("1", requests[0]), ("2", EMMY)]
    assert all(each["hops"] for each in records)
    lines.get_by_role("link").last.click()
    expect(page.get_by_role("heading", name="Result")).to_be_focused()
    expect(page.locator("#result .claim")).to_have_text(EMMY)
    lines.get_by_role("link").first.click()
    expect(page.locator("#result .claim")).to_have_text("Paris is in France.")
    assert len(requests) == 3
    no_serious_violation(page)
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    found(page, "Paris is in France.")
    expect(page.locator("#claims")).to_be_hidden()


@pytest.mark.parametrize("separator", [",", ";"])
def test_claims_of_a_csv_file_are_checked(page, tmp_path, separator):
    page.get_by_label("Knowledge base").select_option("hostile")
    file = tmp_path / "claims.csv"
    claims = [f'{ATTACK}{separator} "Seth" Meyers\nhosted the gala.', "The gala was shown by NBC."]
    with file.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream, delimiter=separator)
        writer.writerows([("number", "claim"), *enumerate(claims)])
    page.get_by_label("or a file of claims").set_input_files(file)
    page.get_by_role("button", name="Find evidence").click()
    expect(page.get_by_role("status")).to_have_text("Complete: 2 of 2 claims.")
    assert page.locator("#claims-lines a").all_text_contents() == claims
    assert page.title() != "attacked"
    file.write_text("statement\nIt rained.\n")
    page.get_by_label("or a file of claims").set_input_files(file)
    page.get_by_role("button", name="Find evidence").click()
    expect(page.get_by_role("status")).to_contain_text("has no column “claim”")
    expect(page.locator("#claims")).to_be_hidden()


def test_a_permalink_and_the_history_repeat_a_claim(page, address):
    found(page, "Paris is in France.")
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_role("status")).to_contain_text("Complete after")
    page.get_by_role("link", name="History").click()
    entries = page.locator(".history li")
    expect(entries).to_have_count(1)
    entries.get_by_role("link").click()
    expect(page.locator("#result")).to_be_visible()
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Remove: Paris").click()
    expect(page.get_by_text("There are no claims yet.")).to_be_visible()


def test_search_finds_titles_and_documents(page):
    page.get_by_role("link", name="Search documents").click()
    page.get_by_label("Words, or the beginning of a title").fill("Seth")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#search-results ul a")).to_contain_text(["Seth Meyers"])
    marks = page.locator("#search-results ol mark")
    assert {mark.lower() for mark in marks.all_inner_texts()} == {"seth"}
    page.locator("#search-results ol a", has_text="Seth Meyers").first.click()
    expect(page.get_by_role("heading", level=1, name="Seth Meyers")).to_be_focused()
    page.get_by_role("link", name="Back to the search").click()
    expect(marks.first).to_be_visible()


def test_the_record_and_the_report_are_downloaded(page, context, tmp_path):
    found(page, EMMY)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the record").click()
    record = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert record["claim"] == EMMY
    assert len(record["hops"]) == 2
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the report").click()
    report = tmp_path / "report.html"
    download.value.save_as(report)
    assert "<script" not in report.read_text(encoding="utf-8")
    other = context.new_page()
    requests = []
    other.on("request", lambda request: requests.append(request.url))
    other.goto(report.as_uri())
    expect(other.get_by_role("heading", level=1)).to_have_text(EMMY)
    assert other.locator("mark").count() == page.locator("mark").count() > 0
    assert other.locator("svg rect").count() == page.locator("svg rect").count() > 0
    assert requests == [report.as_uri()]


def test_hostile_texts_stay_texts(page, tmp_path):
    page.get_by_label("Knowledge base").select_option("hostile")
    found(page, f"{ATTACK} Seth Meyers hosted the gala")
    assert page.locator("main img").count() == 0
    assert ATTACK in page.locator("#result article").first.inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the report").click()
    assert "<img" not in download.value.path().read_text(encoding="utf-8")
    for document in HOSTILE:
        page.evaluate(
            "title => { location.hash = new URLSearchParams({document: title, kb: 'hostile'}) }",
            document["title"],
        )
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_have_text(str(document["title"]))
        expect(page.locator("#sentences li")).to_have_text(document["sentences"])
    assert page.title() != "attacked"
    page.get_by_role("link", name="History").click()
    expect(page.locator(".history li")).to_have_count(1)
    assert page.locator("main img").count() == 0


def test_errors_are_shown_and_leave_the_page_usable(page):
    page.evaluate("location.hash = 'claim=Paris&kb=unknown'")
    expect(page.get_by_role("status")).to_contain_text("no knowledge base “unknown”")
    page.route("**/v1/retrieve/stream", lambda route: route.abort())
    find(page, "Paris is in France.")
    expect(page.get_by_role("status")).to_contain_text("Error:")
    page.unroute("**/v1/retrieve/stream")
    found(page, "Paris is in France.")


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make test-browser")
@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1200, "light")])
def test_axe_finds_no_serious_violation(page, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    no_serious_violation(page)
    found(page, EMMY)
    page.locator("#result tr[tabindex]").first.focus()
    page.locator("#hop-1 summary").click()
    no_serious_violation(page)
    # Nothing is wider than the window.
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for name in ("Search documents", "History"):
        page.get_by_role("link", name=name).click()
        no_serious_violation(page)
    page.evaluate("location.hash = 'document=Seth Meyers&sentence=0'")
    expect(page.locator("#sentences li.named")).to_be_visible()
    no_serious_violation(page)
