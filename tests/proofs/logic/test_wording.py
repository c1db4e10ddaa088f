"""Proofs in words: quoted documents, contradicting words, tables in HTML, and questions."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import Proof, ProofStep, lexical_proof
from proofs.logic.operators import NatOp
from proofs.logic.wording import (
    cited_steps,
    contrasting_words,
    escaped_text,
    question,
    steps_in_words,
)
from tests.proofs.hostile_texts import claims, evidence

EVIDENCE = [("Ada Quill", "Ada Quill was born in 1873."), ("Bo Lind", "Bo Lind was born in 1873.")]


def titles(*quoted, evidence=EVIDENCE):
    steps = [ProofStep("claim", span, NatOp.INDEPENDENCE) for span in quoted]
    places = (place for _, place in cited_steps(steps, evidence))
    return [None if place is None else place.title for place in places]


def test_the_document_that_the_step_before_quotes_is_preferred():
    assert titles("born in 1873") == ["Ada Quill"]
    assert titles("Bo Lind", "born in 1873") == ["Bo Lind", "Bo Lind"]
    assert titles("Bo Lind", "", "born in 1873") == ["Bo Lind", None, "Bo Lind"]
    assert titles("Ada Quill", "Bo Lind") == ["Ada Quill", "Bo Lind"]
    assert titles("Bo", evidence=[("Bo", "He"), ("Al", "Bo")]) == ["Al"]
    assert titles("Cy") == [None]
    assert titles("art", evidence=[("Bo", "He started."), ("Al", "It is art.")]) == ["Al"]


@pytest.mark.parametrize(
    ("claim", "quoted", "expected"),
    [
        ("by an Iraqi comedian", "an American comedian", ("Iraqi", "American")),
        ("was born in 1874.", "born in 1873", ("1874", "1873")),
        ("The 3rd of June", "the 4th of June", ("3rd", "4th")),
        ("the first public lighthouse", "the first lighthouse", None),  # nothing stands against it
        ("in 1874", "In 1873", None),  # the spans say it themselves
        ("never sang", "never sang", None),
    ],
)
def test_contrasting_words(claim, quoted, expected):
    assert contrasting_words(claim, quoted, NatOp.ALTERNATION) == expected
    assert contrasting_words(claim, quoted, NatOp.EQUIVALENCE) is None


def test_a_contradiction_without_shared_words_is_put_in_context():
    evidence = [("Cy Bell", "Cy Bell was born in Rome."), ("Bo Lind", "Bo Lind was born in Oslo.")]
    steps = [
        ProofStep("Bo Lind", "Bo Lind", NatOp.EQUIVALENCE),
        ProofStep("A film", "born", NatOp.ALTERNATION),
    ]
    assert list(steps_in_words(steps, evidence))[1] == (
        '"A film" contradicts "born" [Bo Lind]: the evidence says "Bo Lind was born in Oslo."'
    )
    whole = [ProofStep("A film", "Bo Lind was born in Oslo.", NatOp.NEGATION)]
    assert list(steps_in_words(whole, evidence)) == [
        '"A film" is refuted by "Bo Lind was born in Oslo." [Bo Lind]'
    ]


def test_sentences():
    steps = [
        ProofStep("Bo Lind", "Bo Lind", NatOp.EQUIVALENCE),
        ProofStep("was born in 1874", "born in 1873.", NatOp.ALTERNATION),
        ProofStep("by Cy", "Ada Quill", NatOp.INDEPENDENCE),
        ProofStep("in Rome", "", NatOp.INDEPENDENCE),
    ]
    assert list(steps_in_words(steps, EVIDENCE)) == [
        '"Bo Lind" says the same as "Bo Lind" [Bo Lind]',
        '"was born in 1874" contradicts "born in 1873." [Bo Lind]: '
        'the claim says "1874", the evidence "1873"',
        '"by Cy" is not covered by the evidence (closest: "Ada Quill" [Ada Quill])',
        '"in Rome" is not covered by the evidence',
    ]
    assert next(steps_in_words(steps)) == '"Bo Lind" says the same as "Bo Lind"'


QUOTED_FROM = [
    ("Ada Quill", "Ada Quill was born in 1873."),
    ("Bo Lind", "Bo Lind was born in 1873."),
]


class Cells(HTMLParser):
    """Collects the text of the cells of a table, row by row."""

    def __init__(self, fragment):
        super().__init__()
        self.rows = []
        self.feed(fragment)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert tag in {"style", "table", "tr", "th", "td", "bdi", "cite", "br"}
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.removesuffix("\n")


def test_rows_show_steps_and_titles():
    proof = Proof(
        (
            ProofStep("Bo & Lind", "Bo Lind", NatOp.EQUIVALENCE),
            ProofStep("born in 1874", "born in 1873.", NatOp.ALTERNATION),
            ProofStep("in <b>", "", NatOp.INDEPENDENCE),
            ProofStep("in Rome", "Ada Quill", NatOp.INDEPENDENCE),
        )
    )
    assert Cells(proof.to_html(QUOTED_FROM)).rows[1:] == [
        ["“Bo & Lind”", "says the same as", "“Bo Lind” Bo Lind"],
        [
            "“born in 1874”",
            "contradicts",
            "“born in 1873.” Bo Lindthe claim says “1874”, the evidence “1873”",
        ],
        ["“in <b>”", "is not covered by the evidence", ""],
        ["“in Rome”", "is not covered by the evidence", "closest: “Ada Quill” Ada Quill"],
    ]
    assert "<cite>" not in proof.to_html()


@given(claims, evidence)
def test_any_text_gives_one_row_per_step(claim, texts):
    proof = lexical_proof(claim, texts)
    fragment = proof.to_html(texts)
    fragment.encode("utf-8")
    assert [len(row) for row in Cells(fragment).rows] == [0] + [3] * len(proof.steps)


@pytest.mark.parametrize(
    ("before", "span", "expected"),
    [
        ("It was hosted", "by a Belgian comedian", "Which Belgian comedian?"),
        ("", "A film that Bo Lind starred", None),  # something follows
        ("", "A songwriter", "Which songwriter?"),
        ("She sang", "for a band that Bo Lind founded", None),
        ("She sang", "for a band that toured Peru", "Which band that toured Peru?"),
        ("Bo was born", "on 3 May 1874.", "When?"),
        ("Bo was born", "in May", "When?"),
        ("She met", "the author of Rain of Glass,", "Who is the author of Rain of Glass?"),
        ("It stands in", "the capital of Peru", "What is the capital of Peru?"),
        ("She met", 'the author of "Rain', None),  # cut within a title
        ("She made", 'a "silent" film', 'Which "silent" film?'),
        ("She made", 'a "silent" "film', None),
        ("She met", "the author of a novel", None),
        ("Bo Lind", "is a Belgian comedian", None),
        ("Bo Lind is", "a Belgian comedian", None),  # that he is one is in question, not which
        ("She won", "a lot of prizes", None),
        ("It is", "in a the house", None),
        ("It lasted", "for a long time", None),
        ("She played", "with May", None),
        ("It lies in", "the south of Peru", None),
        ("Bo", "died", None),
        ("", "Bo Lind", None),
        ("", "...", None),
    ],
)
def test_questions(before, span, expected):
    assert question(before, span) == expected


@given(st.text(), st.text(min_size=1))
def test_any_span_has_a_question_or_none(before, span):
    asked = question(before, span)
    assert asked is None or asked.endswith("?")


def test_what_html_cannot_hold_is_shown_as_escapes():
    assert escaped_text("a\x07\ud800 <b>\n c") == "a\\x07\\ud800 &lt;b&gt; c"
