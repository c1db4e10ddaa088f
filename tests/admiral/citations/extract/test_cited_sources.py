"""The sources of claims, each once."""

from __future__ import annotations

from admiral.citations.extract import cited_sources, extract_claims

PAGE = """It rained.<ref>{{cite web|url=https://www.a.example/1/|access-date=2019-05-04}}</ref>
It snowed.<ref>{{cite web|url=http://a.example/1|title=Rain|archive-url=https://archive.ph/x}}</ref>
It froze.<ref>{{cite book|title=Ice|last=Hill|isbn=1}}</ref> It dried.<ref>{{cite book|title=Ice
|last=Hill|isbn=1}}</ref><ref>[https://b.example/2 Sun]</ref><ref>A letter.</ref>"""


def test_sources_on_the_web_and_others():
    web, others = cited_sources(extract_claims(PAGE, "Weather"))
    assert [(each.citation.url, each.claims, each.day) for each in web] == [
        ("https://www.a.example/1/", 2, "20190504"),
        ("https://b.example/2", 1, ""),
    ]
    assert (web[0].citation.title, web[0].citation.archive_url) == ("Rain", "https://archive.ph/x")
    assert [(each.citation.title, each.citation.author, each.claims) for each in others] == [
        ("Ice", "Hill", 2),
        ("A letter.", "", 1),
    ]
