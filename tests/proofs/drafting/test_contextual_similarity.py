"""Words compared by the states of an encoder, and spans aligned by them."""

from __future__ import annotations

import torch
from hypothesis import given, settings

from proofs import annotate, lexical_proof
from proofs.drafting.contextual_similarity import ContextualLikeness
from proofs.drafting.span_alignment import Aligner
from proofs.lexicons.wordnet import default_lexicon
from proofs.logic.proof import ProofError
from proofs.logic.words import pieces
from tests.proofs.conftest import byte_level
from tests.proofs.hostile import claims, evidence
from tests.proofs.models import bart
from trie import Seq2Seq

TOKENS = byte_level()
LIKENESS = ContextualLikeness(Seq2Seq(bart(TOKENS)), TOKENS)
SHORT = ContextualLikeness(Seq2Seq(bart(TOKENS, positions=12)), TOKENS)


def test_shapes_and_range() -> None:
    claim, texts = "Ada Quill was an engineer.", ["", "She built it (in 1873).", "Quill"]
    found = LIKENESS.compare(claim, texts)
    assert [tuple(m.shape) for m in found] == [
        (len(pieces(text)), len(pieces(claim))) for text in texts
    ]
    assert all(m.min() >= 0 and m.max() <= 0.8 for m in found[1:])


def test_a_word_is_most_like_itself_in_the_same_context() -> None:
    claim = "an Irish engineer"
    (same,) = LIKENESS.compare(claim, [claim])
    assert torch.allclose(same.diagonal(), torch.tensor(0.8))


def test_a_batch_says_what_single_texts_say() -> None:
    texts = [f"The lighthouse {'was built ' * n}in 1873." for n in range(20)]
    together = LIKENESS.compare("It was built.", texts)
    for text, found in zip(texts, together, strict=True):
        (alone,) = LIKENESS.compare("It was built.", [text])
        torch.testing.assert_close(found, alone, atol=1e-5, rtol=0)


def test_words_that_are_not_read_are_like_nothing() -> None:
    (found,) = SHORT.compare("engineer", ["engineer " * 30])
    assert found[0].sum() > 0
    assert found[-1].sum() == 0


@settings(deadline=None, max_examples=60)
@given(claims, evidence)
def test_annotation_by_context_agrees_with_what_is_known(claim: str, texts: list) -> None:
    for sufficient in (True, False):
        try:
            proof = annotate(claim, texts, sufficient, likeness=LIKENESS)
        except ProofError:
            assert sufficient
            assert all(not step.evidence for step in lexical_proof(claim, texts).steps)
            continue
        proof.validate(claim, texts)
        assert proof.sufficient is sufficient


def test_context_finds_what_no_word_list_knows() -> None:
    """Of two sentences without a word in common, the one whose words are used alike."""
    claim, span = "Quill was an engineer.", "engineer"
    alike, other = ("A", "Quill was an engineex."), ("B", "Zzz ppp kkk.")
    assert Aligner([alike, other], default_lexicon()).align("qqq") is not None
    found = Aligner([other, alike], default_lexicon(), claim, LIKENESS).align(
        span, start=claim.index(span)
    )
    assert found is not None and found.source == "A"
