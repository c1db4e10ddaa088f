from __future__ import annotations

import unicodedata
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from admiral.io.text_rendering import printable, render_judgement, render_result
from admiral.records import Claim, RankedDocument, Sentence
from proofs import Judgement
from tests.admiral.results import VERDICTS, result, verified_result

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
        "The proof's verdict, not the truth: SUPPORTS. It is what the steps add up to; they are a "
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
    hop = replace(long.hops[0], evidence=(Sentence("T", 0, "word " * 10_000),), proof=None)
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
    assert "The evidence is not yet sufficient (probability that it is: 0.12).\n" in text
    assert "The evidence is sufficient (probability 0.97).\n" in text
    verdict = (
        "Verdict: REFUTES (SUPPORTS 0.25, REFUTES 0.62, NOT ENOUGH INFO 0.12). "
        "It is the verifier's estimate, and may be wrong.\n"
    )
    assert verdict in text
    assert "  Decided by comparison: Five is not six.\n" in text
    assert "The proof's verdict" not in text
    proof = result(CLAIM).hops[1].proof
    judged = render_judgement("Ada wrote", [], Judgement(True, proof, 0.75, VERDICTS), width=200)
    assert f"The evidence is sufficient (probability 0.75).\n{verdict}" in judged


def test_a_judgement_shows_evidence_proof_and_verdict():
    proof = result(CLAIM).hops[0].proof
    evidence = [("Ada Lovelace", "She wrote."), ("", "Untitled.")]
    text = render_judgement("Ada wrote", evidence, Judgement(False, proof))
    assert "  [Ada Lovelace] She wrote.\n  Untitled.\n" in text
    assert '"Ada" is not covered by the evidence\n' in text
    assert '\nNot covered: "Ada"\nThe evidence is not sufficient.\n' in text
    assert "The proof's verdict, not the truth: NOT ENOUGH INFO." in text
    assert "verdict" not in render_judgement("Ada wrote", evidence, Judgement(True, None))
    assert "  none\n" in render_judgement("Ada wrote", [], Judgement(False, None))
