"""The count of marks that are found, on small pages."""

from __future__ import annotations

from click.testing import CliRunner

from benchmarks.marks_found import main, marked_html, marked_wikitext, read_marks

WIKITEXT = """{{Infobox town
| area = 5<ref name=a>x</ref>
| population = 6
| mayor = Hill
}}
It rained.<ref name=a /> It dried.{{efn|As said.<ref>y</ref>}}
{|
| 7<ref>z</ref>
|}
[[File:A.jpg|thumb|A town.<ref>y</ref>]] {{quote|It snowed.<ref>y</ref>}}
== Weather<ref>y</ref> ==
{{reflist|refs=<ref name=a>x</ref>}}
"""
HTML = """<p>It rained.<sup class="reference"><a href="#cite_note-1">[1]</a></sup><sup
class="reference"><a href="#cite_note-2">[note 1]</a></sup></p><table><tr><td>5<sup
class="reference"><a href="#cite_note-1">[1]</a></sup></td></tr></table>
<ol class="references"><li id="cite_note-1">x</li></ol>"""


def test_each_mark_leads_to_its_own_address():
    marked, places = marked_wikitext(WIKITEXT)
    assert places == ["infobox", "text", "note", "table", "caption", "quotation", "heading"]
    assert all(f"https://mark.example/{number} " in marked for number in range(len(places)))
    marked, places = marked_html(HTML)
    assert places == ["text", "table"]
    assert "#cite_note-mark-1" in marked


def test_marks_of_a_page_are_counted(tmp_path):
    page = tmp_path / "Town.wiki"
    page.write_text(WIKITEXT)
    assert list(read_marks(page)) == [(place, True) for place in marked_wikitext(WIKITEXT)[1]]
    page.write_text("<ref>Nothing is said.</ref>")
    assert list(read_marks(page)) == [("text", False)]
    result = CliRunner().invoke(main, ["--each", str(page)])
    assert "Town.wiki: 0 of 1 marks" in result.output
    assert "| all | 1 | 0 (0.0%) |" in result.output
