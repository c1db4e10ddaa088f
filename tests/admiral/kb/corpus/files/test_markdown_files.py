"""Markdown and what its dialects add is read as the page that its readers see."""

import json

import pytest

from admiral.kb.corpus.files import TextBuilder
from admiral.kb.corpus.files.markdown_files import read_markdown, read_notebook


def extract(source):
    """Return the possible titles and (section, sentence) of a file."""
    text = TextBuilder()
    read_markdown(source.encode() if isinstance(source, str) else source, text)
    return text.titles, [(" > ".join(s.section), s.text) for s in text.sentences()]


def sentences(source):
    return [text for _, text in extract(source)[1]]


@pytest.mark.parametrize(
    ("matter", "title"),
    [
        ("---\ntitle: 1897\n---\n", "1897"),
        ("---\ntitle: 2024-03-01\n---\n", "2024-03-01"),
        ("---\nTitle: Lamps: a guide\n---\n", "Lamps: a guide"),
        ("---\n# by hand\n\ntitle: 'Lamps'\ndraft: no\n...\n", "Lamps"),
        ("\ufeff---\r\ntitle: Lamps\r\n---\r\n", "Lamps"),
        ('+++\ntitle = "Lamps"\n+++\n', "Lamps"),
        ("+++\ntitle = 3\n+++\n", "3"),
        ("---\ntitle: [a]\n---\n", None),
        ("---\nauthor: Ida\n---\n", None),
        ("---\n---\n", None),
    ],
)
def test_front_matter(matter, title):
    assert extract(matter + "It is lit.") == ([title] if title else [], [("", "It is lit.")])


def test_text_between_two_rules_is_text():
    assert sentences("---\nIt is lit.\n\n---\nIt burns.") == ["It is lit.", "It burns."]
    cells = [{"cell_type": "markdown", "source": "---\ntitle: x\n\n---\nIt burns."}]
    text = TextBuilder()
    read_notebook(json.dumps({"metadata": {}, "cells": cells}).encode("utf-8-sig"), text)
    assert [s.text for s in text.sentences()] == ["title: x", "It burns."]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("It was lit.[^1] It burns.[^gone]\n\n[^1]: By *Ida*.", "It was lit. It burns. By Ida."),
        ("10<sup>4</sup> of H<sub>2</sub>O, H~2~O and 10^4^", "10^4 of H2O, H2O and 10^4"),
        ("~~Ten~~ ~nine~ eight, ==bright== {--red--}{++white++}{>>why?<<}.",
         "eight, bright white."),
        ("Only if a==b and c==d.", "Only if a==b and c==d."),
        ("{~~old~>new~~} lamp", "new lamp"),
        ("From ~5 km to ~9 km", "From ~5 km to ~9 km"),
        ("Of $a_b * c_d$ for $5 and $6.", "Of $a_b * c_d$ for $5 and $6."),
        ("Use <title> and <select>, not <b>bold</b>.", "Use <title> and <select>, not bold."),
        ("[[Old lamp|the lamp]], ![[picture.png]] [[Oil]]", "the lamp, picture.png Oil"),
        ("Lit <!-- no --> once %%a remark%% a day.", "Lit once a day."),
        ("> [!NOTE]\n> Lit.", "Lit."),
        ("- [x] Fill the lamp with the oil that stands below it.",
         "Fill the lamp with the oil that stands below it."),
        ("*[LED]: a lamp\n\n{: .wide}\n\n[TOC]\n\nAn LED.", "An LED."),
        ("Oil\n: It burns.\n: It is dear.", "Oil: It burns. Oil: It is dear."),
        ("<table><tr><th>Lamp<th>Oil</tr><tr><td>A</td><td>palm</td></tr></table>",
         "Lamp: A; Oil: palm."),
        ("| Lamp | Oil |\n|---|---|\n| `a\\|b` | palm<br>or rape |",
         "Lamp: a|b; Oil: palm or rape."),
        ("<details><summary>Who?</summary>\n\n**Ida** did.\n\n</details>", "Who? Ida did."),
        ("<p hidden>No</p>\n\nYes.", "Yes."),
        ("```\ncode\n```\n    \n    code\n\n![alt](x.png)\n\nText.", "Text."),
    ],
)  # fmt: skip
def test_lines(line, text):
    assert " ".join(sentences(line)) == text


def test_headings_have_no_attributes_and_may_be_html():
    source = (
        "<h1 align=center>Lamps</h1>\n\n## Oil {#oil .wide}\nIt burns.\n\n## Set {a, b}\nIt is."
    )
    assert extract(source) == (
        ["Lamps"],
        [("Lamps > Oil", "It burns."), ("Lamps > Set {a, b}", "It is.")],
    )


def test_admonitions_tabs_and_containers():
    source = """
!!! note "Mind it"

    It is hot.

    ??? tip
        Wait a while.

    === "At night"

        It is lit.

            code()

It burns.

:::warning Take care

::: lamps.oil

::::{.callout}
It is heavy.
::::

:::

```{note} Oil
:class: wide

It is dear.
```

~~~
!!! note "code"
~~~
"""
    assert sentences(source) == [
        *("Mind it", "It is hot.", "Wait a while.", "At night", "It is lit.", "It burns."),
        *("Take care", "It is heavy.", "Oil", "It is dear."),
    ]


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_encodings(codec):
    assert extract("# Café\n\nThe “lamp” is lit.".encode(codec)) == (
        ["Café"],
        [("Café", "The “lamp” is lit.")],
    )
