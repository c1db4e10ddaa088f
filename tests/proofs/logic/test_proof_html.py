"""Tests of proofs as HTML."""

from html.parser import HTMLParser

from hypothesis import given

from proofs import NatOp, Proof, ProofStep, lexical_proof
from tests.proofs.hostile_texts import claims, evidence

EVIDENCE = [
    ("Ada Quill", "Ada Quill was born in 1873."),
    ("Bo Lind", "Bo Lind was born in 1873."),
]


class Cells(HTMLParser):
    """Collects the text of the cells of a table, row by row."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.feed(fragment)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag in {"style", "table", "tr", "th", "td", "bdi", "cite", "br"}
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.removesuffix("\n")


def test_rows_show_steps_and_titles() -> None:
    proof = Proof(
        (
            ProofStep("Bo & Lind", "Bo Lind", NatOp.EQUIVALENCE),
            ProofStep("born in 1874", "born in 1873.", NatOp.ALTERNATION),
            ProofStep("in <b>", "", NatOp.INDEPENDENCE),
            ProofStep("in Rome", "Ada Quill", NatOp.INDEPENDENCE),
        )
    )
    assert Cells(proof.to_html(EVIDENCE)).rows[1:] == [
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
def test_any_text_gives_one_row_per_step(claim: str, texts: list[tuple[str, str]]) -> None:
    proof = lexical_proof(claim, texts)
    fragment = proof.to_html(texts)
    fragment.encode("utf-8")
    assert [len(row) for row in Cells(fragment).rows] == [0] + [3] * len(proof.steps)
