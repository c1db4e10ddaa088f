"""Judgement pages are valid HTML, and every text is escaped."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from admiral.io.claim_notes import claim_notes
from admiral.io.judgement_page import judgement_page
from proofs import Judgement, LexicalJudge
from tests.admiral.results import COMPARED, VERDICTS

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
    for text in (claim, "Ada & Co", "says the same as", "It rained.", "NOT ENOUGH INFO"):
        assert text in page.text
    assert "Not covered by the evidence: “in Rome.”" in page.text
    assert "The evidence is not sufficient." in page.text


def test_a_page_shows_probabilities():
    page = Reader(
        judgement_page("c", [("t", "s")], Judgement.decided(VERDICTS, 0.75, None, COMPARED))
    )
    assert "The evidence is sufficient (probability 0.88)." in page.text
    assert "Verdict: REFUTES (SUPPORTS 0.25, REFUTES 0.62," in page.text
    assert "Decided by comparison: Five is not six." in page.text
