"""Tests of contextual similarity and of alignment by it."""

import torch
from hypothesis import given

from proofs import annotate, lexical_proof
from proofs.drafting.contextual_similarity import ContextualSimilarity
from proofs.drafting.span_alignment import Aligner
from proofs.lexicons.lexicon import default_lexicon
from proofs.logic.proof import ProofError
from proofs.logic.words import split_words
from tests.proofs.conftest import byte_level
from tests.proofs.hostile_texts import claims, evidence
from tests.proofs.untrained_bart import bart
from tests.trie.tiny_t5 import PAD, t5, unigram_tokenizer
from trie import SafeTokenizer, Seq2Seq

TOKENS = byte_level()
SIMILARITY = ContextualSimilarity(Seq2Seq(bart(TOKENS)), TOKENS)
SHORT = ContextualSimilarity(Seq2Seq(bart(TOKENS, positions=12)), TOKENS)


def test_similarities_have_shape_and_range():
    claim, texts = "Ada Quill was an engineer.", ["", "She built it (in 1873).", "Quill"]
    similarities = SIMILARITY.compare(claim, texts)
    assert [tuple(m.shape) for m in similarities] == [
        (len(split_words(text)), len(split_words(claim))) for text in texts
    ]
    assert all(m.min() >= 0 and m.max() <= 0.8 for m in similarities[1:])


def test_same_word_in_same_context_has_maximum_similarity():
    claim = "an Irish engineer"
    (same,) = SIMILARITY.compare(claim, [claim])
    assert torch.allclose(same.diagonal(), torch.tensor(0.8))


def test_batching_does_not_change_similarities():
    texts = [f"The lighthouse {'was built ' * n}in 1873." for n in range(20)]
    together = SIMILARITY.compare("It was built.", texts)
    for text, similarities in zip(texts, together, strict=True):
        (alone,) = SIMILARITY.compare("It was built.", [text])
        torch.testing.assert_close(similarities, alone, atol=1e-5, rtol=0)


def test_words_beyond_the_input_have_no_similarity():
    (similarities,) = SHORT.compare("engineer", ["engineer " * 30])
    assert similarities[0].sum() > 0
    assert similarities[-1].sum() == 0


@given(claims, evidence)
def test_contextual_annotation_agrees_with_the_label(claim, texts):
    for sufficient in (True, False):
        try:
            proof = annotate(claim, texts, sufficient, similarity=SIMILARITY)
        except ProofError:
            assert sufficient
            assert all(not step.evidence for step in lexical_proof(claim, texts).steps)
            continue
        proof.validate(claim, texts)
        assert proof.sufficient is sufficient


def test_contextual_alignment_finds_unrelated_words():
    """Of two sentences without a word in common, choose the one with similar contexts."""
    claim, span = "Quill was an engineer.", "engineer"
    similar, other = ("A", "Quill was an engineex."), ("B", "Zzz ppp kkk.")
    assert Aligner([similar, other], default_lexicon()).align("qqq") is not None
    alignment = Aligner([other, similar], default_lexicon(), claim, SIMILARITY).align(
        span, start=claim.index(span)
    )
    assert alignment is not None
    assert alignment.title == "A"


def test_words_of_a_model_without_a_begin_token():
    """Each word has a token of its own here, and its state."""
    words = ["Rome", "is", "old", "and", "wet"]
    tokens = SafeTokenizer(unigram_tokenizer(words, "a"), PAD)
    model = Seq2Seq(t5(0, vocab_size=tokens.size))
    states = []
    for text in (words, words[3:]):
        ids = tokens.encode(" ".join(text))
        hidden, _ = model.run_encoder([[*ids, tokens.eos]])
        states.append(torch.nn.functional.normalize(hidden[0, : len(text)], dim=-1))
    (found,) = ContextualSimilarity(model, tokens).compare(" ".join(words), [" ".join(words[3:])])
    expected = ((states[1] @ states[0].T - 0.3) * 1.6).clamp(0.0, 0.8)
    assert 0 < expected.count_nonzero() < expected.numel()
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
