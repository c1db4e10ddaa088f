"""References that are ready to be pasted."""

from __future__ import annotations

import mwparserfromhell
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.page_patch import cite_web
from admiral.sources import Source


def test_what_is_known_of_a_source():
    source = Source(
        "https://a.example/x?q=1|2",
        "Floods | The\nEcho",
        "Text.",
        site="The Echo",
        date="2019-08-02",
        language="de",
        archive_url="https://archive.example/1",
    )
    assert cite_web(source) == (
        "{{cite web |url=https://a.example/x?q=1%7C2 |title=Floods {{!}} The Echo "
        "|website=The Echo |date=2019-08-02 |language=de |archive-url=https://archive.example/1}}"
    )


@pytest.mark.parametrize("url", ["file:///tmp/a", "wice:dev1", "javascript:x", ""])
def test_what_is_not_on_the_web_has_no_reference(url):
    assert cite_web(Source(url, "A", "Text.")) == ""


@given(st.text(), st.text())
def test_any_title_stays_inside_the_template(path, title):
    text = cite_web(Source(f"https://a.example/{path}", title, "Text."))
    parsed = mwparserfromhell.parse(text)
    (template, *inner) = parsed.filter_templates()
    assert str(template) == text
    assert all(str(one) == "{{!}}" for one in inner)
    assert [str(one.name) for one in template.params] == ["url", "title"]
