"""Of a page, what its reader sees is read, in order, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.corpus.files import TextBuilder
from admiral.kb.corpus.files.html_files import read_html
from admiral.kb.corpus.files.html_parsing import TableRows


def extract(html):
    """Return the possible titles and (section, sentence) of a page."""
    text = TextBuilder()
    read_html(html.encode() if isinstance(html, str) else html, text)
    return text.titles, [(" > ".join(s.section), s.text) for s in text.sentences()]


def sentences(html):
    return [text for _, text in extract(html)[1]]


LAMP, TOWER = "The lamp turns at dusk.", "Its tower is white."
BOTH = f"<p>{LAMP}</p><p>{TOWER}</p>"
XHTML = '<html xmlns="http://www.w3.org/1999/xhtml"'


@pytest.mark.parametrize(
    "html",
    [
        f"<main><p>{LAMP}</p></main><main><p>{TOWER}</p></main>",
        f"<main></main><div>{BOTH}</div>",
        f"<article><p>{LAMP}</p></article><article><p>{TOWER}</p></article>",
        f"<p>{LAMP}</p><article><p>{TOWER}</p></article>",
        f"<header>Logo</header><article><header><p>{LAMP}</p></header>"
        f"<footer><p>{TOWER}</p></footer></article><footer>Imprint</footer>",
        f"<aside>Adverts</aside><section><p>{LAMP}</p><aside><p>{TOWER}</p></aside></section>",
        f"<form><input value=v><select><option>o</select>{BOTH}<button>Send</button></form>",
        f"<div hidden=until-found>{BOTH}</div>",
        f"<details><summary>{LAMP}</summary>{TOWER}</details>",
        f"<dialog open>{BOTH}</dialog><dialog>Accept all</dialog>",
        f"<x-card><template shadowrootmode=open><p>{LAMP}</p></template></x-card>"
        f"<template>Not yet</template><p>{TOWER}</p>",
        f"<table role=presentation><tr><td>{LAMP}<td>{TOWER}</table>",
        f"{LAMP}<br><br>{TOWER}",
        f"<div>{LAMP}<div>{TOWER}</div></div>",
        f"<div style='display: none'>No</div><div style='color:red'>{BOTH}</div>",
        f"<p style='x:y;VISIBILITY:hidden'>No</p>{BOTH}<p class='a sr-only'>No</p>",
        f"<nav>Home</nav><ul role=navigation><li>Home</ul>{BOTH}<noscript>No</noscript>",
        f"<p>The <del>bell</del> <s>horn</s> lamp turns at dusk.</p><p>{TOWER}</p>",
        f"<p>The <span class=highlight>lamp</span> turns at d<b>usk</b>.</p><p>{TOWER}</p>",
        "<p>The lamp turns<a href=#n3>3</a> at dusk<sup><a href='p.html#n4'>4</a></sup>.</p>"
        "<p>Its tower<a href='#n5' role=doc-noteref>(5)</a> is white.<a href=#x>[6]</a></p>",
        f"<?xml version='1.0'?>{XHTML}><head><title/><style/></head><body>{BOTH}</body></html>",
        f"{XHTML}><head><script src='x'/></head><body><p>{LAMP}<p>{TOWER}</body></html>",
        f"<!DOCTYPE html PUBLIC 'x'><!-- c -->{XHTML}><body><p><![CDATA[{LAMP}]]></p><a id='x'/>"
        f"<p>Its&nbsp;tower is white.</p></body></html>",
        "<?xml version='1.0'?><h:html xmlns:h='http://www.w3.org/1999/xhtml'><h:body>"
        f"<h:p>{LAMP}</h:p><h:p>{TOWER}</h:p></h:body></h:html>",
        f"<pre>\n{LAMP}\n\n  Its tower\nis white.\n</pre><pre>x = {{1: 2}};\nrun(x);</pre>",
        f"<pre><code>The lamp is code here.</code></pre>{BOTH}",
        f"<p>The lamp <a href='#_ftn1' name=x>1</a> turns at dusk.</p><p>{TOWER}<a href=#fn2>2</a>",
        f"<p>The <span style='text-decoration: line-through'>old</span> lamp turns at dusk."
        f"<p>{TOWER}",
        f"<p>The lamp turns at <span role='doc-pagebreak'>17</span>dusk.</p><p>{TOWER}</p>",
    ],
)  # fmt: skip
def test_what_a_reader_sees(html):
    assert sentences(html) == [LAMP, TOWER]


def test_words_in_a_line():
    words = (
        "<p>The keeper said <q>It is lit</q> of 10<sup>4</sup> candles, the 2<sup>nd</sup> of "
        "H<sub>2</sub>O, <ruby>灯<rt>tō</rt>台<rt>dai</rt></ruby>, and a <button>lens</button> in "
        "super<wbr>market Hyphen&shy;ation.</p><button>Share</button>"
        "<button aria-expanded=false>Who lit it?</button>"
    )
    assert sentences(words) == [
        "The keeper said “It is lit” of 10^4 candles, the 2nd of H2O, 灯台 (tōdai), and a lens in "
        "supermarket Hyphenation.",
        "Who lit it?",
    ]


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<math><msup><mi>r</mi><mn>2</mn></msup></math>", "r^2"),
        ("<math><mfrac><mn>1</mn><mrow><mi>a</mi><mo>+</mo><mn>2</mn></mrow></mfrac></math>",
         "1/(a+2)"),
        ("<math><msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup><msqrt><mi>y</mi></msqrt></math>",
         "x_1^2√(y)"),
        ("<math><mn>1</mn><mn>2</mn></math>", "1 2"),
        ("<span style='display:none' class='mwe-math-mathml-inline'><math><semantics><mi>r</mi>"
         "<annotation encoding='application/x-tex'>{\\displaystyle r^{2}}</annotation></semantics>"
         "</math></span>", "r^2"),
        ("<script type='math/tex'>r^2</script><span class=MathJax>r2</span>", "r^2"),
    ],
)  # fmt: skip
def test_formulas(formula, text):
    assert sentences(f"<p>The area {formula} is small.</p>") == [f"The area {text} is small."]


def test_headings_in_other_elements_name_sections():
    html = (
        "<h1>Lights</h1><h2><button>Who lit it?</button></h2><p>Ida did.</p>"
        "<div role=heading aria-level=2>When?</div><p>At dusk.</p>"
    )
    assert extract(html) == (
        ["Lights", "Lights"],
        [("Lights > Who lit it?", "Ida did."), ("Lights > When?", "At dusk.")],
    )


def test_the_head_of_a_site_is_not_the_title_of_its_pages():
    page = "<title>{} - Coast News</title><header><h1>{}</h1><p>All news.</p></header>It is lit."
    assert extract(page.format("Lamp", "Coast News"))[0] == ["Lamp - Coast News"]
    titles, found = extract(page.format("Lamp", "Lamp"))
    assert titles[0] == "Lamp"
    assert [text for _, text in found] == ["All news.", "It is lit."]


def test_terms_with_several_descriptions():
    html = (
        "<dl><dt>Lens<dt>Glass<dd>It bends light.<p>It is old.<dd>It is heavy.<dt>Oil<dd>"
        "<dl><dt>Colza<dd>From seeds.</dl><dd>It burns.</dl>"
    )
    assert sentences(html) == [
        "Lens, Glass: It bends light.",
        "It is old.",
        "Lens, Glass: It is heavy.",
        "Colza: From seeds.",
        "Oil: It burns.",
    ]
    assert sentences("<dl><dt>Lens</dl><dl><dt>Oil<dd>It burns.<dt>Wick<dd></dl>") == [
        "Lens",
        "Oil: It burns.",
        "Wick",
    ]


def test_notes_are_sentences_and_their_marks_are_left_out():
    html = (
        "<p>It was lit in 1897.<sup class=reference><a href=#cite_note-1>[1]</a></sup> It burns."
        "<ol class=references><li id=cite_note-1><a href=#r>^</a> Log of 1897.<li id=fn2>Map. "
        "<a href=#r2>↩</a></ol>"
    )
    assert sentences(html) == ["It was lit in 1897.", "It burns.", "Log of 1897.", "Map."]


# Without headings, whose words are kept only above others, and what is no text in some places.
TAGS = ("p", "div", "td", "tr", "table", "li", "ul", "ruby", "dl", "dd", "dt", "q", "b", "caption",
        "article", "br", "form", "th colspan=2", "td rowspan=2", "tbody", "thead")  # fmt: skip


@given(st.lists(st.sampled_from([f"<{t}>" for t in TAGS] + [f"</{t.split()[0]}>" for t in TAGS])))
def test_words_among_any_tags_are_kept(tags):
    html = "".join(f"{tag}Word{number}. " for number, tag in enumerate(tags))
    found = extract(html + "<p>Last.")[1]
    read = " ".join(f"{section} {text}" for section, text in found)
    for number in range(len(tags)):
        assert f"Word{number}." in read or f"Word{number};" in read


HEADS = "<tr><th>Lamp<th>Oil<th>Years</tr>"


def rows(table):
    text = TextBuilder()
    read_html(f"<table>{table}</table>".encode(), text)
    return [sentence.text for sentence in text.sentences()]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (HEADS + "<tr><td>A<td>palm<td>9", ["Lamp: A; Oil: palm; Years: 9."]),
        (HEADS + "<tr><td rowspan=2>A<td>palm<td>9<tr><td>rape<td>8",
         ["Lamp: A; Oil: palm; Years: 9.", "Lamp: A; Oil: rape; Years: 8."]),
        (HEADS + "<tr><td>A<td colspan=2>none<tr><td>B<td>palm<td>7",
         ["Lamp: A; Oil, Years: none.", "Lamp: B; Oil: palm; Years: 7."]),
        (HEADS + "<tr><td>A<td rowspan=0>palm<td>9<tr><td>B<td>8",
         ["Lamp: A; Oil: palm; Years: 9.", "Lamp: B; Oil: palm; Years: 8."]),
        (HEADS + "<tbody><tr><td rowspan=9>A<td>palm<td>9<tbody><tr><td>B<td>rape<td>8",
         ["Lamp: A; Oil: palm; Years: 9.", "Lamp: B; Oil: rape; Years: 8."]),
        (HEADS + "<tr><td colspan=3>All are lit.", ["All are lit."]),
        (HEADS + "<tr><td>A<td>✗<td>–", ["Lamp: A; Oil: ✗; Years: –."]),
        ("<thead><tr><td>Lamp<td>Oil</thead><tr><td>A<td>palm", ["Lamp: A; Oil: palm."]),
        ("<tr><th rowspan=2>Lamp<th colspan=2>Oil<tr><th>1897<th>1898<tr><td>A<td>9<td>8",
         ["Lamp: A; Oil 1897: 9; Oil 1898: 8."]),
        ("<caption>Lamps of the coast</caption><tr><th>Lamp<th>Oil<tr><th>A<td>palm",
         ["Lamps of the coast", "Lamp: A; Oil: palm."]),
        ("<tr><th colspan=2>Facts<tr><th>Oil<td>palm<tr><th>Years:<td>9",
         ["Facts.", "Oil: palm.", "Years: 9."]),
        ("<tr><th>Oil<td>palm<th>Years<td>9", ["Oil: palm; Years: 9."]),
        ("<tr><td>A<td>palm", ["A; palm."]),
        ("<tr><th>A<th>B<tr><th>c<th>d", ["A; B.", "c; d."]),
        (HEADS + "<tr><td>A<td><ul><li>palm<li>rape</ul><td>9<br>to 10",
         ["Lamp: A; Oil: palm, rape; Years: 9 to 10."]),
        (HEADS + "<tr><td>A<td><dl><dt>palm<dd>dear</dl><td><p>9</p><p>10</p>",
         ["Lamp: A; Oil: palm: dear; Years: 9 10."]),
        (HEADS + "<tr><td>A<td><table><tr><th>Kind<td>palm</table><td>9",
         ["Lamp: A; Years: 9.", "Kind: palm."]),
        ("<tr><td>A long day.<td><table><tr><td>B<td>C</table>D", ["A long day.", "B; C.", "D"]),
        ("<tr><td><h2>Left</h2>One.<td>Two.", ["One.", "Two."]),
        (HEADS + "<tr><td>A<td>palm<td>9<tr><th>Ship<th>Crew<tr><td>B<td>8",
         ["Lamp: A; Oil: palm; Years: 9.", "Ship: B; Crew: 8."]),
        (HEADS + "<tr><td>A<td colspan=x>palm<td rowspan='-1'>9",
         ["Lamp: A; Oil: palm; Years: 9."]),
        (HEADS + "<tr><td>10<sup>3</sup><td>a<sup>[1]</sup><td>b",
         ["Lamp: 10^3; Oil: a; Years: b."]),
    ],
)  # fmt: skip
def test_rows(table, expected):
    assert rows(table) == expected


CELLS = st.tuples(st.integers(1, 4), st.integers(1, 4))


@given(st.lists(st.lists(CELLS, min_size=1, max_size=5), min_size=1, max_size=5))
def test_no_cell_is_lost_and_none_is_repeated_in_a_row(shape):
    table, number = TableRows(), 0
    table.cell("head", is_head=True, columns=None, rows=None)
    assert table.end_row(in_head=False) == ""
    for cells in shape:
        own = []
        for width, height in cells:
            number += 1
            own.append(f"cell{number}x")
            table.cell(own[-1], is_head=False, columns=str(width), rows=str(height))
        sentence = table.end_row(in_head=False)
        assert all(sentence.count(text) == 1 for text in own)
        assert all(sentence.count(f"cell{n}x") <= 1 for n in range(number))
