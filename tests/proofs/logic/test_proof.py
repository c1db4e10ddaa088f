"""Proofs: notation, JSON, words, validation and files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import (
    NatOp,
    Proof,
    ProofError,
    ProofFileError,
    ProofStep,
    ProofSyntaxError,
    Verdict,
    read_proofs,
)

CLAIM = "Ada Quill built the lighthouse in 1874."
EVIDENCE = [("Ada Quill", "In 1873 Ada Quill (1840-1901) built the Port Merrow lighthouse.")]
PROOF = Proof(
    (
        ProofStep("Ada Quill", "Ada Quill", NatOp.EQUIVALENCE),
        ProofStep("built the lighthouse", "", NatOp.INDEPENDENCE),
        ProofStep("in 1874.", "In 1873", NatOp.ALTERNATION),
    )
)

spans = st.text(max_size=12).map(str.strip)
full = spans.filter(bool)
steps = st.one_of(
    st.builds(ProofStep, full, full, st.sampled_from(NatOp)),
    st.builds(ProofStep, full, spans, st.just(NatOp.INDEPENDENCE)),
)
proofs = st.lists(steps, min_size=1, max_size=5).map(lambda s: Proof(tuple(s)))


@given(proofs)
def test_notation_round_trips(proof):
    text = proof.to_text()
    assert Proof.parse(text) == proof
    assert "\n" not in text
    assert "\r" not in text


@given(proofs)
def test_json_round_trips(proof):
    assert Proof.from_json(json.loads(json.dumps(proof.to_json()))) == proof


@given(st.text(alphabet="{}[]=!|#<> \\ab\n", max_size=30))
def test_any_text_parses_or_raises_inside_it(text):
    problem = None
    try:
        proof = Proof.parse(text)
    except ProofSyntaxError as error:
        problem = error
    if problem is None:
        assert Proof.parse(proof.to_text()) == proof
    else:
        assert 0 <= problem.offset <= len(text)
        lines = text.split("\n")
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1


def test_notation_follows_the_paper():
    assert PROOF.to_text() == (
        "{ Ada Quill } [ Ada Quill ] = { built the lighthouse } [ ] # { in 1874. } [ In 1873 ] |"
    )


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("", "line 1, column 1", "expected '{'"),
        ("{ a } [ b ] ?", "line 1, column 13", "operator"),
        ("{ a } [ b ]", "line 1, column 12", "found the end"),
        ("{ a } =", "line 1, column 7", "expected '['"),
        ("{ a } [ b ] =\n{ a [ b ] =", "line 2, column 5", "expected '}'"),
        ("{ a } [ b ] =\n  { } [ b ] =", "line 2, column 3", "empty"),
        ("{ a } [ ] =", "line 1, column 11", "empty evidence"),
        ("{ a\\q } [ ] #", "line 1, column 5", "escape"),
        ("{ a", "line 1, column 1", "never closed"),
    ],
)
def test_syntax_errors_have_line_and_column(text, place, problem):
    with pytest.raises(ProofSyntaxError, match=place) as caught:
        Proof.parse(text)
    assert problem in str(caught.value)


def test_properties_of_a_proof():
    assert not PROOF.sufficient
    assert PROOF.missing == ("built the lighthouse",)
    assert PROOF.verdict() is Verdict.NOT_ENOUGH_INFO
    assert PROOF.in_words() == [
        '"Ada Quill" says the same as "Ada Quill"',
        '"built the lighthouse" is not covered by the evidence',
        '"in 1874." contradicts "In 1873"',
    ]
    asked = Proof((PROOF.steps[0], ProofStep("by a singer", "by Al", NatOp.INDEPENDENCE)))
    assert asked.questions() == [("by a singer", "Which singer?")]
    assert PROOF.questions() == [("built the lighthouse", None)]
    assert Proof((PROOF.steps[0], PROOF.steps[2])).verdict() is Verdict.REFUTES


def test_invalid_steps_and_proofs_raise():
    for claim, evidence, operator in [
        ("", "b", NatOp.EQUIVALENCE),
        (" a", "b", NatOp.EQUIVALENCE),
        ("a", "b ", NatOp.EQUIVALENCE),
        ("a", "", NatOp.NEGATION),
    ]:
        with pytest.raises(ProofError):
            ProofStep(claim, evidence, operator)
    with pytest.raises(ProofError, match="at least one"):
        Proof(())


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ([{"claim": "a", "evidence": "b"}], "step 1 .* 'operator'"),
        ([{"claim": "a", "evidence": "b", "operator": "?"}], "step 1 .*unknown"),
        ([*PROOF.to_json(), 3], "step 4 .*object"),
        ([], "at least one"),
    ],
)
def test_json_errors_have_the_step(record, problem):
    with pytest.raises(ProofError, match=problem):
        Proof.from_json(record)


def test_validation_accepts_a_valid_proof():
    PROOF.validate(CLAIM, EVIDENCE)


@pytest.mark.parametrize(
    ("claim", "evidence", "problem"),
    [
        (CLAIM + " indeed", EVIDENCE, "ends before"),
        (CLAIM[:-1], EVIDENCE, "does not continue"),
        ("So " + CLAIM, EVIDENCE, "does not continue"),
        (CLAIM.replace("Quill ", "Quilla "), EVIDENCE, "does not continue"),
        (CLAIM, [("Ada", "In 1873 she built it.")], "not quoted"),
    ],
)
def test_validation_rejects_other_claims_and_evidence(claim, evidence, problem):
    with pytest.raises(ProofError, match=problem):
        PROOF.validate(claim, evidence)


def test_validation_limits_quotations():
    sentence = "one two three four five six seven eight of the"
    for quoted, problem in [(sentence, "more than 7"), ("of the", "stop words")]:
        with pytest.raises(ProofError, match=problem):
            Proof((ProofStep("a", quoted, NatOp.EQUIVALENCE),)).validate("a", [("T", sentence)])


@given(st.lists(proofs, max_size=4))
def test_files_round_trip(tmp_path_factory, written):
    path = tmp_path_factory.mktemp("proofs") / "proofs.txt"
    text = "".join(f"{proof.to_text()}\n" for proof in written)
    path.write_bytes(text.encode("utf-8", "replace"))
    read = [proof.to_text() for proof in read_proofs(path)]
    assert read == text.encode("utf-8", "replace").decode().split("\n")[:-1]


def test_line_ends_and_empty_lines_are_skipped(tmp_path):
    path = tmp_path / "proofs.txt"
    path.write_bytes(b"\xef\xbb\xbf" + f"{PROOF.to_text()}\r\n \n\n{PROOF.to_text()}".encode())
    assert list(read_proofs(path)) == [PROOF, PROOF]


@pytest.mark.parametrize(
    ("line", "column", "problem"),
    [
        (b"{ a } [ b ] ?", 13, "expected an operator"),
        (b"{ a } [ b ] = { a [ b ] =", 19, r"expected '}', found '\['"),
        (b"proof", 1, "expected '{', found 'p'"),
        (b"{ \xc3\xa9 } [ ] =", 11, "empty evidence"),
        (b"{ a } [ \xff ] =", 9, "not UTF-8"),
    ],
)
def test_file_errors_have_line_and_column(tmp_path, line, column, problem):
    path = tmp_path / "proofs.txt"
    path.write_bytes(b"{ a } [ b ] =\n\n" + line + b"\n{ a } [ b ] =\n")
    place = rf"proofs\.txt: line 3, column {column}: .*{problem}"
    reader = read_proofs(path)
    assert next(reader).to_text() == "{ a } [ b ] ="
    with pytest.raises(ProofFileError, match=place) as caught:
        next(reader)
    assert (caught.value.path, caught.value.line, caught.value.column) == (path, 3, column)
