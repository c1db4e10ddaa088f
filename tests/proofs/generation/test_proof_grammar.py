"""The grammar accepts only valid proofs, and it accepts every annotation."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import (
    AnnotationError,
    NatOp,
    Proof,
    ProofError,
    ProofGrammar,
    ProofStep,
    annotate,
    lexical_proof,
    target_ids,
)
from proofs.logic.words import has_content, word_spans
from tests.proofs.hostile_texts import claims, evidence
from tests.trie.walking import following

CLAIM = "The Lighthouse at Port Merrow was built by an Irish engineer born in 1873."
EVIDENCE = [
    ("Port Merrow Lighthouse", "It was built by Ada Quill, whose tower replaced a beacon."),
    ("Ada Quill", "Ada Quill (born May 3, 1873) was an Irish engineer."),
]


def walk(grammar, choose, lazy=0.5):
    """Return a random accepted sequence; with probability `lazy`, prefer the first tokens."""
    state, ids = grammar.start, []
    while ahead := following(grammar, state):
        allowed = list(ahead)
        token = choose.choice(allowed[:2] if choose.random() < lazy else allowed)
        state = ahead[token]
        ids.append(token)
    return ids


def check(proof, ids, claim, texts, max_length):
    proof.validate(claim, texts)
    assert Proof.parse(proof.to_text()) == proof
    assert len(ids) <= max_length


@given(claims, evidence, st.randoms(use_true_random=False), st.integers(0, 60), st.integers(1, 6))
def test_random_walks_through_the_grammar_are_valid_proofs(
    tokens, claim, texts, choose, spare, max_steps
):
    max_length = len(tokens.encode(claim)) + 6 + spare
    grammar = ProofGrammar(
        tokens, claim, texts, max_length=max_length, max_steps=max_steps, operators=tuple(NatOp)
    )
    ids = walk(grammar, choose)
    assert ids[-1] == tokens.eos
    proof = grammar.proof(ids)
    check(proof, ids, claim, texts, max_length)
    assert len(proof.steps) <= max_steps


@given(claims, evidence, st.booleans())
def test_grammar_accepts_every_annotation(tokens, claim, texts, sufficient):
    try:
        proof = annotate(claim, texts, sufficient)
    except AnnotationError:
        return
    ids = target_ids(tokens, proof, claim, texts, max_length=2000)
    decoded = ProofGrammar(tokens, claim, texts, max_length=2000).proof(ids)
    check(decoded, ids, claim, texts, 2000)
    assert decoded.sufficient is sufficient


def test_targets_decode_to_the_annotation(tokens):
    for sufficient in (True, False):
        proof = annotate(CLAIM, EVIDENCE, sufficient)
        ids = target_ids(tokens, proof, CLAIM, EVIDENCE)
        grammar = ProofGrammar(tokens, CLAIM, EVIDENCE, max_length=len(ids))
        assert grammar.proof(ids) == proof
        with pytest.raises(ProofError):
            target_ids(tokens, proof, CLAIM, EVIDENCE, max_length=len(ids) - 1)


def test_quotations_equal_brute_force_enumeration(tokens):
    """Compare with all spans of words that satisfy the rules."""
    texts = [("Ada Quill", "Ada Quill (born May 3, 1873) was an Irish engineer of the first rank.")]
    grammar = ProofGrammar(tokens, "Ada", texts, max_length=500)
    legal = set()
    for text in texts[0]:
        words = text.split()
        for begin in range(len(words)):
            for end in range(begin + 1, min(begin + 7, len(words)) + 1):
                if has_content(span := " ".join(words[begin:end])):
                    legal.add(span.strip("(),. "))
    quoted = set()
    prefix = [tokens.single_token("{"), *tokens.encode("Ada"), *map(tokens.single_token, "}[")]
    # Depth-first search of everything between the brackets.
    agenda = [(grammar.walk(prefix), ())]
    while agenda:
        state, ids = agenda.pop()
        for token, next_state in following(grammar, state).items():
            if token != tokens.single_token("]"):
                agenda.append((next_state, (*ids, token)))
            elif ids:
                whole = [*prefix, *ids, token, tokens.single_token("="), tokens.eos]
                quoted.add(grammar.proof(whole).steps[0].evidence)
    assert {span.strip("(),. ") for span in quoted} == legal


def test_quotations_keep_original_wording(tokens):
    texts = [("T", "A  Žižkov\tTOWER of «Ĳssel»")]
    proof = Proof((ProofStep("the tower", "Žižkov\tTOWER of «Ĳssel»", NatOp.EQUIVALENCE),))
    ids = target_ids(tokens, proof, "the tower", texts)
    assert ProofGrammar(tokens, "the tower", texts, max_length=100).proof(ids) == proof


def test_empty_quotation_requires_independence(tokens):
    grammar = ProofGrammar(tokens, "Ada", EVIDENCE, max_length=50)
    ids = [tokens.single_token("{"), *tokens.encode("Ada"), *map(tokens.single_token, "}[]")]
    assert list(following(grammar, grammar.walk(ids))) == [tokens.single_token("#")]
    with pytest.raises(ValueError, match="not allowed"):
        grammar.walk([*ids, tokens.single_token("=")])
    with pytest.raises(ProofError, match="not complete"):
        grammar.proof(ids)
    with pytest.raises(ProofError, match="not a proof"):
        grammar.proof([*ids, tokens.single_token("=")])


def test_only_allowed_operators_are_generated(tokens):
    grammar = ProofGrammar(tokens, CLAIM, EVIDENCE, max_length=200)
    for seed in range(50):
        proof = grammar.proof(walk(grammar, random.Random(seed), lazy=0.2))
        assert not {NatOp.FORWARD, NatOp.REVERSE} & set(proof.operators)


def test_stop_at_independence(tokens):
    grammar = ProofGrammar(tokens, CLAIM, EVIDENCE, max_length=200, stop_at_independence=True)
    seen = set()
    for seed in range(80):
        proof = grammar.proof(walk(grammar, random.Random(seed), lazy=0.2))
        assert NatOp.INDEPENDENCE not in proof.operators[:-1]
        seen.add(proof.sufficient)
        if proof.sufficient:
            proof.validate(CLAIM, EVIDENCE)
    assert seen == {True, False}


@pytest.mark.parametrize("words", [1, 200, 600])
def test_long_claims_fit_within_limits(tokens, words):
    claim = " ".join(f"word{i}" for i in range(words))
    length = len(tokens.encode(claim))
    for max_length in (length + 6, length + 100):
        grammar = ProofGrammar(tokens, claim, EVIDENCE, max_length=max_length)
        for seed in range(5):
            ids = walk(grammar, random.Random(seed))
            check(grammar.proof(ids), ids, claim, EVIDENCE, max_length)
    ids = target_ids(
        tokens, lexical_proof(claim, EVIDENCE), claim, EVIDENCE, max_length=500 + length * 3
    )
    assert len(ids) > length
    with pytest.raises(ProofError, match="does not fit"):
        ProofGrammar(tokens, claim, EVIDENCE, max_length=length + 5)


def test_claim_span_length_is_bounded(tokens):
    claim = " ".join(["tower"] * 40)
    grammar = ProofGrammar(tokens, claim, [], max_length=400, max_claim_words=3)
    for seed in range(20):
        proof = grammar.proof(walk(grammar, random.Random(seed)))
        # 2 * 40 words / 16 steps exceeds three words, and the last step takes the rest.
        assert all(len(word_spans(s.claim)) <= 5 for s in proof.steps[:-1])


def test_impossible_grammars_raise(tokens):
    with pytest.raises(ProofError, match="without words"):
        ProofGrammar(tokens, " \n ", EVIDENCE, max_length=50)
    with pytest.raises(ValueError, match="#"):
        ProofGrammar(tokens, "a", [], max_length=50, operators=(NatOp.EQUIVALENCE,))
    with pytest.raises(ValueError, match="#"):
        ProofGrammar(tokens, "a", [], max_length=50, max_steps=0)


def test_targets_of_other_claims_raise(tokens):
    proof = annotate(CLAIM, EVIDENCE, True)
    with pytest.raises(ProofError, match="continue"):
        target_ids(tokens, proof, "Another claim", EVIDENCE)
    with pytest.raises(ProofError, match="quoted"):
        target_ids(tokens, proof, CLAIM, [])


def test_huge_evidence_is_accepted(tokens):
    texts = [("x" * 200_000, "word " * 100_000), *EVIDENCE]
    grammar = ProofGrammar(tokens, CLAIM, texts, max_length=300)
    ids = walk(grammar, random.Random(1))
    grammar.proof(ids).validate(CLAIM, texts)
