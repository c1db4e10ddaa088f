"""Steps in words: quoted documents, and the words that contradict each other."""

import pytest

from proofs.logic.operators import NatOp
from proofs.logic.wording import cited_steps, contrasting_words, steps_in_words

EVIDENCE = [
    ("Ada Quill", "Ada Quill was born in 1873."),
    ("Bo Lind", "Bo Lind was born in 1873."),
]


def titles(*quoted: str, evidence: list[tuple[str, str]] = EVIDENCE) -> list[str | None]:
    steps = [("claim", span, NatOp.INDEPENDENCE) for span in quoted]
    return [title for _, title in cited_steps(steps, evidence)]


def test_the_document_that_the_step_before_quotes_is_preferred() -> None:
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
def test_contrasting_words(claim: str, quoted: str, expected: tuple[str, str] | None) -> None:
    assert contrasting_words(claim, quoted, NatOp.ALTERNATION) == expected
    assert contrasting_words(claim, quoted, NatOp.EQUIVALENCE) is None


def test_a_contradiction_without_shared_words_is_put_in_context() -> None:
    evidence = [("Cy Bell", "Cy Bell was born in Rome."), ("Bo Lind", "Bo Lind was born in Oslo.")]
    steps = [("Bo Lind", "Bo Lind", NatOp.EQUIVALENCE), ("A film", "born", NatOp.ALTERNATION)]
    assert list(steps_in_words(steps, evidence))[1] == (
        '"A film" contradicts "born" [Bo Lind]: the evidence says "Bo Lind was born in Oslo."'
    )
    whole = [("A film", "Bo Lind was born in Oslo.", NatOp.NEGATION)]
    assert list(steps_in_words(whole, evidence)) == [
        '"A film" is refuted by "Bo Lind was born in Oslo." [Bo Lind]'
    ]


def test_sentences() -> None:
    steps = [
        ("Bo Lind", "Bo Lind", NatOp.EQUIVALENCE),
        ("was born in 1874", "born in 1873.", NatOp.ALTERNATION),
        ("by Cy", "Ada Quill", NatOp.INDEPENDENCE),
        ("in Rome", "", NatOp.INDEPENDENCE),
    ]
    assert list(steps_in_words(steps, EVIDENCE)) == [
        '"Bo Lind" says the same as "Bo Lind" [Bo Lind]',
        '"was born in 1874" contradicts "born in 1873." [Bo Lind]: '
        'the claim says "1874", the evidence "1873"',
        '"by Cy" is not covered by the evidence (closest: "Ada Quill" [Ada Quill])',
        '"in Rome" is not covered by the evidence',
    ]
    assert next(steps_in_words(steps)) == '"Bo Lind" says the same as "Bo Lind"'
