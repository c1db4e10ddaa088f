"""Annotated proofs agree with the label of the evidence."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from proofs import AnnotationError, Verdict, annotate, lexical_proof
from proofs.drafting.contextual_similarity import ContextualSimilarity
from proofs.drafting.spans import Aligner, chunk
from proofs.lexicons import default_lexicon
from tests.proofs.conftest import byte_level
from tests.proofs.helpers import bart, claims, evidence
from tests.trie.helpers import PAD, t5, unigram_tokenizer
from trie import SafeTokenizer, Seq2Seq

CLAIM = "The lighthouse at Port Merrow was built by an Irish engineer born in 1873."
LIGHTHOUSE = (
    "Port Merrow Lighthouse",
    "The lighthouse at Port Merrow was built by Ada Quill, whose tower replaced a beacon.",
)
ENGINEER = ("Ada Quill", "Ada Quill (born 1873 in Cork) was an Irish engineer.")
OTHER = ("Bo Lind", "Bo Lind (born 1901 in Oslo) was a Norwegian painter.")


@given(claims, evidence, st.booleans(), st.sampled_from([None, True, False]))
def test_annotation_agrees_with_the_label(claim, texts, sufficient, refuted):
    try:
        proof = annotate(claim, texts, sufficient, refuted)
    except AnnotationError:
        # Only if nothing can be quoted; then no word of the claim is covered either.
        assert sufficient
        assert all(not step.evidence for step in lexical_proof(claim, texts).steps)
        return
    proof.validate(claim, texts)
    assert proof.sufficient is sufficient
    assert proof == annotate(claim, texts, sufficient, refuted)
    if not sufficient:
        assert proof.verdict() is Verdict.NOT_ENOUGH_INFO
    elif refuted is not None:
        assert proof.verdict() is (Verdict.REFUTES if refuted else Verdict.SUPPORTS)


def _operators(proof):
    return {step.claim: step.operator.value for step in proof.steps}


def test_full_evidence_is_not_repaired():
    proof = annotate(CLAIM, [LIGHTHOUSE, ENGINEER], True, False)
    assert proof == lexical_proof(CLAIM, [LIGHTHOUSE, ENGINEER])
    assert {step.claim: step.evidence for step in proof.steps} == {
        "The lighthouse": "The lighthouse",
        "at Port Merrow": "at Port Merrow",
        "was built": "was built",
        "by an Irish engineer": "an Irish engineer",
        "born": "born",
        "in 1873.": "1873 in",
    }


def test_spans_of_withheld_evidence_are_independent():
    proof = annotate(CLAIM, [LIGHTHOUSE, OTHER], False, withheld=[ENGINEER])
    assert _operators(proof) == {
        "The lighthouse": "=",
        "at Port Merrow": "=",
        "was built": "=",
        "by an Irish engineer": "#",
        "born": "=",
        "in 1873.": "#",
    }


def test_repair_changes_the_fewest_operators():
    sure = annotate(CLAIM, [LIGHTHOUSE, ENGINEER], True, False)
    repaired = annotate(CLAIM, [LIGHTHOUSE, ENGINEER], False)
    changed = [a != b for a, b in zip(sure.operators, repaired.operators, strict=True)]
    assert sum(changed) == 1
    assert len(repaired.missing) == 1
    refuted = annotate(CLAIM, [LIGHTHOUSE, ENGINEER], True, True)
    changed = [a != b for a, b in zip(sure.operators, refuted.operators, strict=True)]
    assert sum(changed) == 1


@given(claims, st.integers(1, 9), st.integers(1, 20))
def test_chunks_partition_the_claim_at_word_boundaries(claim, max_words, max_chunks):
    spans = chunk(claim, max_words=max_words, max_chunks=max_chunks)
    assert " ".join(claim[a:b] for a, b in spans).split() == claim.split()
    assert all(claim[a:b].split() for a, b in spans)
    edges = [0, *[x for span in spans for x in span], len(claim)]
    assert edges == sorted(edges)
    assert all(not claim[a:b].strip() for a, b in zip(edges[::2], edges[1::2], strict=True))
    assert len(spans) <= max_chunks
    if max_chunks >= len(claim.split()):
        assert all(len(claim[a:b].split()) <= max_words for a, b in spans)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (
            "The lighthouse at Port Merrow was built by an Irish engineer born in 1873.",
            "The lighthouse | at Port Merrow | was built | by an Irish engineer | born | in 1873.",
        ),
        (
            "The Lord of the Northern Isles is a novel that was published on May 3, 1931.",
            "The Lord of the Northern Isles | is a novel | that was published | on May 3, 1931.",
        ),
        (
            'St. Olaf was sung by J. R. Moe for "Merrow." Fenwick is a novel.',
            'St. Olaf | was sung | by J. R. Moe for "Merrow." | Fenwick | is a novel.',
        ),
        (
            "According to Moe, the duchess who Fenwick is named after, left. She was the first "
            "to be painted.",
            "According to Moe, | the duchess | who Fenwick | is named after, | left. | "
            "She was the first | to be painted.",
        ),
        (
            "Merrow is a film written and directed by Moe and starring Ada Quill, which it is "
            "about. It was made in 1931 by Moe.",
            "Merrow | is a film | written and directed by Moe | and starring Ada Quill, | "
            "which it is about. | It was made | in 1931 | by Moe.",
        ),
        ("Merrow", "Merrow"),
        ("", ""),
    ],
)
def test_chunk_examples(claim, expected):
    assert " | ".join(claim[a:b] for a, b in chunk(claim)) == expected


TOKENS = byte_level()
SIMILARITY = ContextualSimilarity(Seq2Seq(bart(TOKENS)), TOKENS)


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
