"""Proofs: notation, JSON, words, validation and files."""

from dataclasses import replace
from functools import lru_cache
from html.parser import HTMLParser
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from proofs import (
    NatOp,
    Proof,
    ProofError,
    ProofFileError,
    ProofStep,
    ProofSyntaxError,
    Relation,
    Verdict,
    compose,
    join,
    read_proofs,
)
from proofs.logic import verdict
from proofs.logic.wording import (
    cited_steps,
    contrasting_words,
    escaped_text,
    question,
    steps_in_words,
)
from proofs.logic.words import Quotation

BASIC = list(Relation)


def relation_of(x, y, everything):
    """Return the basic relation of two sets, given as bits, by definition."""
    if x == y:
        return Relation.EQUIVALENCE
    if x & y in (x, y):
        return Relation.FORWARD if x & y == x else Relation.REVERSE
    disjoint, exhaustive = not x & y, x | y == everything
    if disjoint:
        return Relation.NEGATION if exhaustive else Relation.ALTERNATION
    return Relation.COVER if exhaustive else Relation.INDEPENDENCE


@lru_cache
def joins_of_sets(size):
    """Return all joins that occur for the non-trivial subsets of a universe of `size` elements."""
    everything = 2**size - 1
    sets = range(1, everything)
    relation = {(x, y): relation_of(x, y, everything) for x in sets for y in sets}
    joins = {}
    for x, y, z in product(sets, repeat=3):
        pair = relation[x, y], relation[y, z]
        joins[pair] = joins.get(pair, Relation(0)) | relation[x, z]
    return joins


def test_join_equals_relations_of_sets():
    assert joins_of_sets(5) == {pair: join(*pair) for pair in product(BASIC, repeat=2)}


def test_verdict_automaton_agrees_with_join():
    supports = Relation.EQUIVALENCE | Relation.FORWARD
    refutes = Relation.NEGATION | Relation.ALTERNATION
    for length in range(6):
        for operators in product(NatOp, repeat=length):
            relation = compose(operators)
            expected = Verdict.NOT_ENOUGH_INFO
            if relation in supports:
                expected = Verdict.SUPPORTS
            elif relation in refutes:
                expected = Verdict.REFUTES
            assert verdict(operators) is expected


CLAIM = "Ada Quill built the lighthouse in 1874."
EVIDENCE = [("Ada Quill", "In 1873 Ada Quill (1840-1901) built the Port Merrow lighthouse.")]
PROOF = Proof(
    (
        ProofStep("Ada Quill", "Ada Quill", NatOp.EQUIVALENCE),
        ProofStep("built the lighthouse", "", NatOp.INDEPENDENCE),
        ProofStep("in 1874.", "In 1873", NatOp.ALTERNATION),
    )
)

PROOFS = TypeAdapter(Proof)

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


places = st.builds(Quotation, spans, st.integers(0), st.integers(0), st.integers(0), st.booleans())


@given(proofs, st.lists(st.tuples(st.integers(0), st.none() | places), min_size=5, max_size=5))
def test_json_round_trips(proof, located):
    placed = [
        replace(step if place is None else step.quoted_at(place), claim_start=start)
        for step, (start, place) in zip(proof.steps, located, strict=False)
    ]
    for one in (proof, Proof(tuple(placed))):
        read = PROOFS.validate_json(PROOFS.dump_json(one))
        assert (read, PROOFS.dump_json(read)) == (one, PROOFS.dump_json(one))


def test_a_located_proof_has_the_places_of_its_spans():
    located = PROOF.located(CLAIM, EVIDENCE, numbers=[4])
    nowhere = dict.fromkeys(("title", "sentence_id", "evidence_start", "evidence_end"))
    sentence = {"title": "Ada Quill", "sentence_id": 4}
    assert [dict(list(step.items())[3:]) for step in PROOFS.dump_python(located)] == [
        {"claim_start": 0, "claim_end": 9, **sentence, "evidence_start": 8, "evidence_end": 17,
         "in_title": False},
        {"claim_start": 10, "claim_end": 30, **nowhere, "in_title": False},
        {"claim_start": 31, "claim_end": 39, **sentence, "evidence_start": 0, "evidence_end": 7,
         "in_title": False},
    ]  # fmt: skip


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
    assert (
        Proof.parse("{Ada Quill}[Ada Quill]={built the lighthouse}[]#{in 1874.}[In 1873]|") == PROOF
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
    for span, quoted, operator in [
        ("", "b", NatOp.EQUIVALENCE),
        (" a", "b", NatOp.EQUIVALENCE),
        ("a", "b ", NatOp.EQUIVALENCE),
        ("a", "", NatOp.NEGATION),
    ]:
        with pytest.raises(ProofError):
            ProofStep(span, quoted, operator)
    with pytest.raises(ProofError, match="at least one"):
        Proof(())


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ([{"claim": "a", "evidence": "b"}], r"steps\.0\.operator"),
        ([{"claim": "a", "evidence": "b", "operator": "?"}], r"steps\.0\.operator"),
        ([*PROOFS.dump_python(PROOF), 3], r"steps\.3\n.* dictionary"),
        ([PROOFS.dump_python(PROOF)[0] | {"evidence_end": 1.5}], r"steps\.0\.evidence_end\n.*int"),
        ([], "at least one"),
    ],
)
def test_json_errors_have_the_step(record, problem):
    with pytest.raises(ValidationError, match=problem):
        PROOFS.validate_python(record)


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


@pytest.mark.parametrize(
    ("line", "column", "problem"),
    [
        (b"{ a } [ b ] ?", 13, "expected an operator"),
        (b"{ a } [ b ] = { a [ b ] =", 19, r"expected '}', found '\['"),
        (b"proof", 1, "expected '{', found 'p'"),
        (b"\xef\xbb\xbf{ a } [ b ] =", 1, "expected '{'"),  # only the first line has one
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


WORDING_EVIDENCE = [
    ("Ada Quill", "Ada Quill was born in 1873."),
    ("Bo Lind", "Bo Lind was born in 1873."),
]


def titles(*quoted, evidence=WORDING_EVIDENCE):
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


def test_sentences():
    steps = [
        ProofStep("Bo Lind", "Bo Lind", NatOp.EQUIVALENCE),
        ProofStep("was born in 1874", "born in 1873.", NatOp.ALTERNATION),
        ProofStep("by Cy", "Ada Quill", NatOp.INDEPENDENCE),
        ProofStep("in Rome", "", NatOp.INDEPENDENCE),
    ]
    assert list(steps_in_words(steps, WORDING_EVIDENCE)) == [
        '"Bo Lind" says the same as "Bo Lind" [Bo Lind]',
        '"was born in 1874" contradicts "born in 1873." [Bo Lind]: '
        'the claim says "1874", the evidence "1873"',
        '"by Cy" is not covered by the evidence (closest: "Ada Quill" [Ada Quill])',
        '"in Rome" is not covered by the evidence',
    ]
    assert next(steps_in_words(steps)) == '"Bo Lind" says the same as "Bo Lind"'


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
    assert Cells(proof.to_html(WORDING_EVIDENCE)).rows[1:] == [
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


@pytest.mark.parametrize(
    ("before", "span", "expected"),
    [
        ("It was hosted", "by a Belgian comedian", "Which Belgian comedian?"),
        ("", "A film that Bo Lind starred", None),  # something follows
        ("", "A songwriter", "Which songwriter?"),
        ("She sang", "for a band that Bo Lind founded", None),
        ("She sang", "for a band that toured Peru", "Which band that toured Peru?"),
        ("Bo was born", "on 3 May 1874.", "When?"),
        ("She met", "the author of Rain of Glass,", "Who is the author of Rain of Glass?"),
        ("It stands in", "the capital of Peru", "What is the capital of Peru?"),
        ("She met", 'the author of "Rain', None),  # cut within a title
        ("She made", 'a "silent" film', 'Which "silent" film?'),
        ("She met", "the author of a novel", None),
        ("Bo Lind is", "a Belgian comedian", None),  # that he is one is in question, not which
        ("She won", "a lot of prizes", None),
        ("It lasted", "for a long time", None),
        ("It lies in", "the south of Peru", None),
        ("Bo", "died", None),
        ("", "Bo Lind", None),
    ],
)
def test_questions(before, span, expected):
    assert question(before, span) == expected


def test_what_html_cannot_hold_is_shown_as_escapes():
    assert escaped_text("a\x07\ud800 <b>\n c") == "a\\x07\\ud800 &lt;b&gt; c"
