"""Judgement pages are valid HTML, and every text is escaped."""

import re
import sys
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.io.progress import stderr_is_terminal, track_claims, track_documents
from admiral.io.rendering import (
    claim_notes,
    judgement_page,
    printable,
    render_judgement,
    render_result,
    sufficiency_statement,
)
from admiral.records import Claim, RankedDocument, Sentence, json_of
from proofs import Judgement, LexicalJudge, Verdict
from proofs.judges.judgement import Conflict, SentenceName, leaning_words
from tests.admiral.results import OPEN_VERDICTS, VERDICTS, result, verified_result

CLAIM = Claim("1", "Ada wrote")


@given(st.text(st.characters(), max_size=40))
def test_printable_text_contains_no_control_characters(text):
    shown = printable(text)
    shown.encode("utf-8")
    assert shown.splitlines() in ([], [shown])
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in shown)


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=40))
def test_ordinary_text_is_unchanged(text):
    assert printable(text) == text


def test_a_result_shows_hops_evidence_proofs_and_documents():
    text = render_result(result(CLAIM))
    assert text == (
        "Claim: Ada wrote\n"
        "\n"
        "Hop 1 (0.25 s)\n"
        "  Ada Lovelace (9.50)\n"
        "  Evidence\n"
        "    [Ada Lovelace] She wrote the first program.\n"
        "  Proof\n"
        '    "Ada" is not covered by the evidence\n'
        '    "wrote" says the same as "wrote" [Ada Lovelace]\n'
        '  Not covered yet: "Ada"\n'
        "  The evidence is not yet sufficient.\n"
        "\n"
        "Hop 2 (0.50 s)\n"
        "  Ada Lovelace + Analytical Engine (-0.70)\n"
        "  Evidence\n"
        "    [Ada Lovelace] She wrote the first program.\n"
        "    [Analytical Engine] It is a machine.\n"
        "  Proof\n"
        '    "Ada wrote" says the same as "She wrote" [Ada Lovelace]\n'
        "  The evidence is sufficient.\n"
        "\n"
        "Stopped because the evidence is sufficient.\n"
        "The proof's verdict, not the truth: supported. It is what the steps add up to; they are a "
        "program's\n"
        "  and may be wrong.\n"
        "\n"
        "Documents\n"
        " 1. Ada Lovelace (-0.70, hop 2)\n"
        " 2. Analytical Engine (-0.70, hop 2)\n"
        " 3.  (4.00, first stage)\n"
    )


def test_colour_adds_escapes_and_titles_cannot():
    hostile = result(Claim("1", "a\x1b[2J"), title="\x1b]0;owned\x07")
    plain = render_result(hostile)
    assert "\x1b" not in plain
    assert "\x07" not in plain
    coloured = render_result(hostile, colour=True, width=1000)
    for code in ("\x1b[1m", "\x1b[2m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == render_result(hostile, width=1000)


def test_long_rankings_and_texts_are_shortened_and_notes_shown():
    documents = tuple(RankedDocument(f"D{i}", 1.0, 1) for i in range(14))
    long = result(CLAIM)
    sentence = Sentence("T", 0, "word " * 10_000)
    hop = long.hops[0].judged(Judgement(False, None), evidence=(sentence,))
    long = replace(long, documents=documents, hops=(hop,), warnings=("The claim was cut.",))
    text = render_result(long, width=60)
    assert "and 4 more" in text
    assert "D10" not in text
    assert "no proof" in text
    assert "Note: The claim was cut." in text
    assert len(text) < 3000
    assert max(map(len, text.splitlines())) <= 60


def test_probabilities_are_shown_instead_of_the_verdict_of_the_proof():
    text = render_result(verified_result(CLAIM), width=200)
    open_line = "The evidence is not yet sufficient (probability that it is: 0.62; needed: 0.75).\n"
    assert open_line in text
    assert "The evidence is sufficient (probability 0.88).\n" in text
    verdict = (
        "Verdict: refuted, 62% (supported 25%, not enough evidence 12%). "
        "It is the verifier's estimate, and may be wrong.\n"
    )
    assert verdict in text
    assert "  Decided by comparison: Five is not six.\n" in text
    assert "The proof's verdict" not in text
    proof = result(CLAIM).hops[1].proof
    judgement = Judgement.decided(VERDICTS, 0.7, proof)
    judged = render_judgement("Ada wrote", [], judgement, width=200)
    assert f"The evidence is sufficient (probability 0.88).\n{verdict}" in judged


@pytest.mark.parametrize(("refutes", "leaning"), [(0.59, True), (0.61, False)])
def test_an_unsure_verdict_is_a_leaning(refutes, leaning):
    verdicts = {
        Verdict.SUPPORTS: 0.2,
        Verdict.REFUTES: refutes,
        Verdict.NOT_ENOUGH_INFO: 0.8 - refutes,
    }
    judgement = Judgement.decided(verdicts, 0.7)
    text = render_judgement("Ada wrote", [], judgement, width=200)
    page = judgement_page("Ada wrote", [], judgement)
    record = json_of(judgement)["verdict"]
    words = "leans towards refuted, 59%: read the evidence" if leaning else "refuted, 61%"
    assert record["words"] == words
    assert f"Verdict: {words} (supported 20%, not enough evidence " in text
    assert f"Verdict: <strong>{words}</strong> (supported 20%," in page
    assert record.get("leaning", False) is leaning
    for shown in (text, page):
        assert not re.search("✓|supports|refutes", shown, re.IGNORECASE)
    # A probability that rounds to what would be sure does not read so.
    assert leaning_words("refuted", 0.5999) == "leans towards refuted, 59%: read the evidence"


def test_a_verdict_that_a_threshold_forces_is_explained():
    forced = render_judgement("Ada wrote", [], Judgement.decided(OPEN_VERDICTS, 0.75), width=300)
    assert (
        'Verdict: not enough evidence, 38% (supported 50%, refuted 12%). "supported" is more '
        'probable, but "supported" and "refuted" together are not as probable as stop_at=0.75 '
        "asks for."
    ) in forced
    near = Judgement.decided(OPEN_VERDICTS, 0.6251)
    # With two digits, 0.625 would read as enough.
    assert "(probability that it is: 0.62; needed: 0.63)" in sufficiency_statement(near)
    tied = {Verdict.SUPPORTS: 0.3, Verdict.REFUTES: 0.3, Verdict.NOT_ENOUGH_INFO: 0.4}
    says = sufficiency_statement(Judgement.decided(tied, 0.5))
    assert says.endswith("not sufficient (no other verdict is as probable).")


def test_a_repeated_proof_is_printed_once():
    once = result(CLAIM)
    twice = replace(once, hops=(once.hops[0], replace(once.hops[0], number=2)))
    text = render_result(twice)
    assert text.count('"Ada" is not covered by the evidence') == 1
    assert "  Proof as in hop 1\n" in text


def test_both_sides_of_contradictory_evidence_are_shown():
    evidence = [("Ada", "Ada was born in Oslo."), ("Bo", "Ada was born in Rome.")]
    conflict = Conflict(SentenceName("Ada", 0), SentenceName("Bo", 1))
    judgement = Judgement.decided(VERDICTS, 0.7, conflict=conflict)
    assert (
        'The evidence contradicts itself: "Ada was born in Oslo." [Ada] speaks for the claim, '
        '"Ada was born in Rome." [Bo] against it.\n'
    ) in render_judgement("Ada was born in Oslo.", evidence, judgement, width=200)


def test_a_judgement_shows_evidence_proof_and_verdict():
    proof = result(CLAIM).hops[0].proof
    evidence = [("Ada Lovelace", "She wrote."), ("", "Untitled.")]
    text = render_judgement("Ada wrote", evidence, Judgement(False, proof))
    assert "  [Ada Lovelace] She wrote.\n  Untitled.\n" in text
    assert '"Ada" is not covered by the evidence\n' in text
    assert '\nNot covered: "Ada"\nThe evidence is not sufficient.\n' in text
    assert "The proof's verdict, not the truth: not enough evidence." in text
    assert "\nNo verdict.\n" in render_judgement("Ada wrote", evidence, Judgement(True, None))
    assert "  none\n" in render_judgement("Ada wrote", [], Judgement(False, None))


def test_a_closed_standard_error_is_not_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert not stderr_is_terminal()
    assert list(track_documents("abc", "reading")) == ["a", "b", "c"]
    assert list(track_claims("abc", done=0, total=3)) == ["a", "b", "c"]


VOID = {"meta", "input"}


class Reader(HTMLParser):
    """Collects the tags, which must be closed in order, and the text."""

    def __init__(self, page):
        super().__init__()
        self.open = []
        self.tags = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def tags(claim, evidence):
    return Reader(judgement_page(claim, evidence, Judgement(False, None))).tags


@given(st.text(), st.text(min_size=1), st.text())
def test_texts_are_escaped(claim, title, sentence):
    page = judgement_page(claim, [(title, sentence)], Judgement(True, None))
    page.encode("utf-8")
    assert Reader(page).tags == tags("Why?" if claim_notes(claim) else "c", [("t", "s")])


def test_a_page_shows_claim_evidence_proof_and_conclusions():
    claim = "Ada <i>Quill</i> was born in 1873 in Rome."
    evidence = [("Ada & Co", "Ada <i>Quill</i> (born 1873) was shy."), ("", "It rained.")]
    (judgement,) = LexicalJudge().judge([claim], [evidence])
    page = Reader(judgement_page(claim, evidence, judgement))
    assert "script" not in page.tags
    assert "Content-Security-Policy\" content=\"default-src 'none';" in judgement_page(
        claim, evidence, judgement
    )
    assert "link" not in page.tags
    assert "i" not in page.tags
    for text in (claim, "Ada & Co", "says the same as", "It rained.", "not enough evidence"):
        assert text in page.text
    assert "Not covered by the evidence: “in Rome.”" in page.text
    assert "The evidence is not sufficient." in page.text
