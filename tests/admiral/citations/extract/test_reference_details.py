"""Titles, authors, ISBNs and addresses of references, in wikitext and HTML."""

from __future__ import annotations

import pytest

from admiral.citations.extract import extract_claims

A = "https://a.example/1"
COPY = f"https://web.archive.org/web/2010/{A}"


def of_wikitext(reference):
    (claim,) = extract_claims(f"It rained.<ref>{reference}</ref>", format="wikitext")
    (citation,) = claim.citations
    return citation


def of_html(note):
    (claim,) = extract_claims(
        '<p>It rained.<sup class="reference"><a href="#cite_note-1">[1]</a></sup></p><ol>'
        '<li id="cite_note-1"><span class="mw-cite-backlink"><a href="#cite_ref-1">^</a></span> '
        f'<span class="reference-text">{note}</span></li></ol>',
        format="html",
    )
    (citation,) = claim.citations
    return citation


TEMPLATES = {
    f"{{{{Internetquelle|url={A}|titel=Der Fluss|werk=Die Zeit|datum=2019-05-01|abruf=2020-01-02"
    f"|archiv-url={COPY}|autor=Eva Hill}}}}": (
        "Der Fluss",
        "Eva Hill",
        "",
        "Die Zeit",
        "2019-05-01",
    ),
    "{{Literatur|Autor=Eva Hill|Titel=Der Fluss|Verlag=Mohr|Jahr=1999|ISBN=3-16-148410-0"
    f"|Online={A}}}}}": ("Der Fluss", "Eva Hill", "3-16-148410-0", "", "1999"),
    f"{{{{Lien web|url={A}|titre=Le fleuve|site=Le Monde|date=1999|nom=Hill|prénom=Eva}}}}": (
        *("Le fleuve", "Hill, Eva", "", "Le Monde", "1999"),
    ),
    f"{{{{Ouvrage|titre=Le fleuve|nom1=Hill|nom2=Pell|isbn=2|lire en ligne={A}|année=1999}}}}": (
        *("Le fleuve", "Hill; Pell", "2", "", "1999"),
    ),
    f"{{{{cita web|url={A}|título=El río|obra=El País|fecha=1999|autor=Eva Hill}}}}": (
        *("El río", "Eva Hill", "", "El País", "1999"),
    ),
    f"{{{{cita web|url={A}|titolo=Il fiume|sito=Corriere|data=1999}}}}": (
        *("Il fiume", "", "", "Corriere", "1999"),
    ),
    f"{{{{Kilde www|url={A}|tittel=Elva|dato=1999}}}}": ("Elva", "", "", "", "1999"),
    f"{{{{Zeitungsbeleg|url={A}|titel=Der Fluss}}}}": ("Der Fluss", "", "", "", ""),
    f"{{{{cite book|last=Hill|first=Eva|author2=Jo Pell|title=Rain|isbn=0-330-41957-9|url={A}"
    "}}": (*("Rain", "Hill, Eva; Jo Pell", "0-330-41957-9", "", ""),),
}


@pytest.mark.parametrize("template", TEMPLATES)
def test_templates_are_read_by_their_parameters(template):
    found = of_wikitext(template)
    assert found.url == A
    assert (found.title, found.author, found.isbn, found.work, found.date) == TEMPLATES[template]


def test_books_without_an_address():
    book = of_wikitext("{{cite book|last=Hill|first=Eva|title=Rain|isbn=0-330-41957-9}}")
    assert (book.url, book.title, book.author, book.isbn) == (
        *("", "Rain", "Hill, Eva", "0-330-41957-9"),
    )
    written = of_wikitext("Hill, Eva. ''Rain'', p. 3. ISBN 978-0-330-41957-0.")
    assert (written.url, written.isbn) == ("", "978-0-330-41957-0")
    shown = of_html(
        '<cite class="citation book">Hill, Eva. <i>Rain</i>. ISBN 0-330-41957-9.</cite><span '
        'class="Z3988" title="rft.btitle=Rain&amp;rft.aulast=Hill&amp;rft.aufirst=Eva&amp;'
        'rft.isbn=0-330-41957-9"></span>'
    )
    assert (shown.url, shown.title, shown.author, shown.isbn) == (
        *("", "Rain", "Hill, Eva", "0-330-41957-9"),
    )


def test_references_of_unknown_templates_are_named():
    assert of_wikitext("{{GESTIS|Name=Lewisit|ZVG=570100}}").title == "GESTIS: Lewisit, 570100"


@pytest.mark.parametrize("shown", ["Archived", "Archived copy", "the original", "Wayback Machine"])
def test_what_links_to_copies_show_is_no_title(shown):
    link = f'<a class="external" href="{COPY}">{shown}</a>'
    original = f'<a class="external" href="{A}">the original</a>'
    around = f'<cite class="citation web">Hill, Eva. "Rain". {link} from {original}.</cite>'
    for note in (around, f'Hill, Eva, "Rain", The Paper. {link} from {original}.'):
        found = of_html(note)
        assert (found.title, found.url, found.archive_url) == ("Rain", A, COPY)
    found = of_wikitext(f'Hill, "Rain", The Paper. [{COPY} {shown}] from [{A} the original].')
    assert (found.title, found.url, found.archive_url) == ("Rain", A, COPY)


def test_the_title_of_the_page_counts_not_that_of_its_copy():
    first = f'<a class="external" href="{COPY}">Archived</a>'
    second = '<a class="external" href="http://www.a.example/1/">Rain</a>'
    found = of_html(f"{first} {second}")
    assert (found.title, found.url, found.archive_url) == ("Rain", A, COPY)


def test_a_link_behind_a_description_is_its_address():
    cite = '<cite class="ouvrage">Hill, <i>La pluie</i></cite>'
    found = of_html(f'{cite} (<a class="external" href="{A}">lire en ligne</a>)')
    assert (found.url, found.title) == (A, "Hill, La pluie")


def test_archives_of_which_the_address_is_that_of_the_page():
    found = of_wikitext(f"{{{{Webarchiv|url={A}|wayback=20110102030405|text=Der Fluss}}}}")
    assert (found.url, found.title) == (A, "Der Fluss")
    assert found.archive_url == f"https://web.archive.org/web/20110102030405/{A}"
