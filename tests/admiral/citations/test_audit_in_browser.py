"""The audit page in Chromium: decisions, saved files, hostile texts."""

import json
from dataclasses import replace

import pytest

pytest.importorskip("playwright", reason="needs Playwright: pip install playwright")

from playwright.sync_api import expect

from admiral.citations.audit_page import audit_page
from admiral.citations.citation_records import CitationVerdict, ScoredSource
from admiral.citations.extract import read_page
from tests.admiral.browser import BROWSER_MARKS, browser, context, no_serious_violation

__all__ = ["browser", "context"]

pytestmark = BROWSER_MARKS

ATTACK = "<img src=x onerror=\"document.title='attacked'\">"
MILL = '<ref name="mill">{{cite web|url=https://old.example/mill}}</ref>'
WIKITEXT = (
    f"The town of Orr has a mill.{MILL}{{{{failed verification}}}}\n"
    """It burned in 1900.<ref name=mill /> It was rebuilt.<ref>https://old.example/new</ref><ref
name="late"/>
It has 300 people.{{cn}} It has a market.{{r|late}}
A comment <!-- <ref name=mill /> --> and </script><b>.
{{Reflist|refs=
<ref name="late">[https://old.example/late Late]</ref>
}}
"""
)
CITE = "{{cite web |url=https://new.example/a |title=New &lt;b> }}"


def scored(url, finding="not_found"):
    return ScoredSource(url, f"{ATTACK} title", "scored", -1.0, finding=finding)


def verdict(claim, decision, *, suggests=True):
    better = replace(scored("https://new.example/a", "supported"), wikitext=CITE)
    existing = tuple(scored(one.url) for one in claim.citations)
    return CitationVerdict(claim, decision, existing, (better,) * suggests)


def opened(context, tmp_path, text, decisions, **options):
    page = read_page(text, f"Orr {ATTACK}", **options)
    verdicts = [
        verdict(each.claim, decision, suggests=decision != "flag")
        for each, decision in zip(page.claims, decisions, strict=True)
    ]
    file = tmp_path / "audit.html"
    file.write_text("".join(audit_page(page.title, verdicts, page=page)), encoding="utf-8")
    tab = context.new_page()
    problems = []
    tab.on("console", lambda message: problems.append(message.text))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto(file.as_uri())
    assert tab.title() == "Audit of citations"
    assert problems == []
    return tab


def saved(tab, name):
    with tab.expect_download() as download:
        tab.get_by_role("button", name=name).click()
    return download.value.suggested_filename, download.value.path().read_text(encoding="utf-8")


def patched(tab):
    return saved(tab, "Save the page with accepted sources")[1]


def answer(tab, said, choice):
    tab.get_by_role("article").filter(has_text=said).get_by_label(choice, exact=True).check()


@pytest.fixture
def tab(context, tmp_path):
    return opened(context, tmp_path, WIKITEXT, ["replace", "flag", "replace", "add", "not_checked"])


def test_the_page_is_saved_as_it_was_without_decisions(tab):
    assert patched(tab) == WIKITEXT
    no_serious_violation(tab)


def test_accepted_sources_are_in_the_place_of_the_marks(tab):
    new = f"<ref>{CITE}</ref>"
    articles = tab.get_by_role("article")
    articles.nth(0).get_by_label("accept").check()
    expected = WIKITEXT.replace(f"{MILL}{{{{failed verification}}}}", new).replace(
        "1900.<ref name=mill />", f"1900.{MILL}"
    )
    assert patched(tab) == expected
    articles.nth(2).get_by_label("accept").check()
    expected = expected.replace('<ref>https://old.example/new</ref><ref\nname="late"/>', new)
    assert patched(tab) == expected
    articles.nth(3).get_by_label("accept").check()
    expected = expected.replace("{{cn}}", new)
    assert patched(tab) == expected
    # No source could be read, so the new one is added; nothing is chosen before.
    articles.nth(4).get_by_label("accept").check()
    assert patched(tab) == expected
    articles.nth(4).get_by_label("Source").select_option(index=1)
    assert patched(tab) == expected.replace("{{r|late}}", f"{{{{r|late}}}}{new}")
    articles.nth(4).get_by_label("reject").check()
    assert patched(tab) == expected


def test_the_last_use_of_a_listed_reference_goes_with_its_definition(context, tmp_path):
    text = "It is old.<ref name=a />\n<references>\n<ref name=a>http://a.example</ref></references>"
    tab = opened(context, tmp_path, text, ["replace"])
    tab.get_by_label("accept").check()
    expected = f"It is old.<ref>{CITE}</ref>\n<references>\n</references>"
    assert patched(tab) == expected


def test_what_fails_without_a_better_source_is_tagged(context, tmp_path):
    text = "It is old.{{sfn|Smith|1990}} It is new.<ref>http://a.example</ref>{{fv}}"
    tab = opened(context, tmp_path, text, ["flag", "flag"])
    for number in range(2):
        tab.get_by_label("accept").nth(number).check()
    tagged = "It is old.{{sfn|Smith|1990}}{{failed verification}}"
    assert patched(tab) == text.replace("It is old.{{sfn|Smith|1990}}", tagged)


def test_a_page_in_html(context, tmp_path):
    mark = '<sup class="reference"><a href="#cite_note-1">[1]</a></sup>'
    page = (
        f"<!DOCTYPE html><html><body><p>It is old.{mark} It is big.</p>"
        '<ol><li id="cite_note-1"><a class="external" href="http://a.example">A</a></li></ol>'
        "</body></html>"
    )
    tab = opened(context, tmp_path, page, ["replace"])
    tab.get_by_label("accept").check()
    title = "&lt;img src=x onerror=&quot;document.title=&#x27;attacked&#x27;&quot;&gt; title"
    new = f'<sup class="reference"><a href="https://new.example/a">[{title}]</a></sup>'
    assert patched(tab) == page.replace(mark, new)


def test_decisions_are_kept_and_saved(tab):
    article = tab.get_by_role("article").nth(1)
    article.focus()
    tab.keyboard.press("r")
    article.get_by_label("Note").fill(f"Not so. {ATTACK}")
    tab.get_by_role("article").nth(0).focus()
    tab.keyboard.press("a")
    tab.reload()
    expect(article.get_by_label("reject")).to_be_checked()
    name, text = saved(tab, "Save decisions")
    assert name == "decisions-Orr-img-src-x-onerror-document-title-attacked.json"
    record = json.loads(text)
    assert record["page"] == f"Orr {ATTACK}"
    first, second = record["decisions"]
    assert first["answer"] == "accept"
    assert (first["url"], first["reference"]) == ("https://new.example/a", f"<ref>{CITE}</ref>")
    assert second == {
        "id": second["id"],
        "claim": "It burned in 1900.",
        "decision": "flag",
        "answer": "reject",
        "note": f"Not so. {ATTACK}",
        "reference": "",
        "url": "",
    }
    assert tab.title() == "Audit of citations"
