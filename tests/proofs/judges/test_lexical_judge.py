"""Lexical proofs of claims with negation and quantifiers."""

import pytest

from proofs import LexicalJudge, NatOp


def steps(claim, sentence):
    texts = [("Ada Quill" if "Ada" in sentence else "Show", sentence)]
    (judgement,) = LexicalJudge().judge([claim], [texts])
    assert judgement.proof is not None
    judgement.proof.validate(claim, texts)
    return {step.claim: step for step in judgement.proof.steps}


@pytest.mark.parametrize(
    ("claim", "sentence", "span", "quoted", "operator"),
    [
        # The claim is negated.
        ("Ada Quill is not in Paris.", "Ada Quill is in Paris.",
         "is not in Paris.", "is in Paris", "!"),
        ("Ada Quill never built a tower.", "Ada Quill built a tower.",
         "never built a tower.", "built a tower", "!"),
        ("Ada Quill was not an old Irish engineer.", "Ada Quill was an Irish engineer.",
         "was not an old Irish engineer.", "was an Irish engineer", "!"),
        # The evidence is negated.
        ("Ada Quill is in Paris.", "Ada Quill is not in Paris.", "is in Paris.",
         "not in Paris", "!"),
        ("Ada Quill was an Irish engineer.", "Ada Quill was not an Irish engineer.",
         "was an Irish engineer.", "not an Irish engineer", "!"),
        ("Ada Quill was an old Irish engineer.", "Ada Quill was not an Irish engineer.",
         "was an old Irish engineer.", "not an Irish engineer", "!"),
        ("Ada Quill hosted the show.", "Ada Quill did not host the show.",
         "hosted the show.", "not host the show", "!"),
        ("Ada Quill hosted the show.", "Ada Quill never hosted the show.",
         "hosted the show.", "never hosted the show", "!"),
        ("Ada Quill hosted the show.", "Ada Quill hardly hosted the show.",
         "hosted the show.", "hardly hosted the show", "!"),
        # Both are negated.
        ("Ada Quill is not in Paris.", "Ada Quill is not in Paris.",
         "is not in Paris.", "is not in Paris", "="),
        # Quantifiers.
        ("All actors left the show.", "No actors left the show.", "All actors", "No actors", "|"),
        ("No actors left the show.", "All actors left the show.", "No actors", "All actors", "|"),
        ("All actors left the show.", "Not all of the actors left the show.",
         "All actors", "Not all of the actors", "!"),
        ("Some actors left the show.", "None of the actors left the show.",
         "Some actors", "None of the actors", "!"),
        ("Seven actors left the show.", "More than seven actors left the show.",
         "Seven actors", "More than seven actors", "|"),
    ],
)  # fmt: skip
def test_negations_and_quantifiers_decide_their_step(claim, sentence, span, quoted, operator):
    step = steps(claim, sentence)[span]
    assert (step.evidence, step.operator.value) == (quoted, operator)


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("Ada Quill was an engineer.", "Ada Quill, who never married, was an engineer."),
        ("Ada Quill was an engineer.", "Not married, Ada Quill was an engineer."),
        ("Ada Quill was an engineer.", "Ada Quill was not a singer but an engineer."),
        ("Ada Quill was an engineer.", "Ada Quill was not only a singer but also an engineer."),
        ("Ada Quill was a singer.", "Ada Quill was not only a singer but also an engineer."),
        ("Ada Quill lived in Paris.", "Ada Quill did not marry and lived in Paris."),
        ("Ada Quill was an engineer.", "Ada Quill was No. 1, an engineer."),
        ("The actors left the show.", "Most actors left the show."),
    ],
)
def test_negations_of_other_words_do_not_count(claim, sentence):
    assert {step.operator for step in steps(claim, sentence).values()} == {NatOp.EQUIVALENCE}
