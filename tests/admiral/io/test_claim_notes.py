"""Notes on the form of a claim: several sentences, and texts without a verdict."""

from __future__ import annotations

import pytest

from admiral.io.claim_notes import claim_notes


def test_several_sentences_are_counted() -> None:
    (note,) = claim_notes("Ada Quill wrote Fenwick. It won a prize. Dr. Moe printed it.")
    assert note.startswith("These are 3 sentences with one verdict together")


@pytest.mark.parametrize("text", ["", "Dogs bark.", "St. Olaf was played by J. R. Moe in 1931."])
def test_one_sentence_needs_no_note(text: str) -> None:
    assert claim_notes(text) == ()


def test_a_question_has_the_note_that_it_has_no_verdict_and_no_other() -> None:
    (note,) = claim_notes("Ada was born in Oslo. Was she a painter?")
    assert note.startswith("This is a question")
