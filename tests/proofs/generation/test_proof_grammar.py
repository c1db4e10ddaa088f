"""The grammar accepts only valid proofs, and it accepts every annotation."""

import random
from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from admiral.requirements import minilm_directory
from proofs import (
    AnnotationError,
    GeneratedProofJudge,
    NatOp,
    Proof,
    ProofError,
    ProofGenerator,
    ProofGrammar,
    annotate,
    lexical_proof,
    target_ids,
)
from proofs.generation.proof_grammar import encode_source
from proofs.logic.words import has_content
from tests.proofs.helpers import bart, claims, evidence
from tests.trie.helpers import following
from training.warm_start import mini_tokenizer
from trie import SafeTokenizer, Seq2Seq

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


@pytest.mark.parametrize("words", [1, 250])
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


def test_impossible_grammars_raise(tokens):
    with pytest.raises(ProofError, match="without words"):
        ProofGrammar(tokens, " \n ", EVIDENCE, max_length=50)
    with pytest.raises(ValueError, match="#"):
        ProofGrammar(tokens, "a", [], max_length=50, operators=(NatOp.EQUIVALENCE,))
    with pytest.raises(ValueError, match="#"):
        ProofGrammar(tokens, "a", [], max_length=50, max_steps=0)


# Models take longer than grammars, and are the same with each tokenizer.
ONE_KIND = pytest.mark.parametrize("tokens", ["bpe"], indirect=True)
GENERATED_CLAIM = "The lighthouse was built by an Irish engineer."
LIGHTHOUSE = ("Port Merrow Lighthouse", "The lighthouse was built by Ada Quill.")
ENGINEER = ("Ada Quill", "Ada Quill (born 1873) was an Irish engineer.")
HOSTILE = [
    (GENERATED_CLAIM, [LIGHTHOUSE, ENGINEER]),
    ("} { [ ] # </s>", [("[a]", "} ] = </s> {"), ("", "")]),
    ("Ada", [("\x00\ud800", "İ ﬁne e\u0301 \u200b")]),
    (" ".join(["tower"] * 40), [ENGINEER]),
]


@ONE_KIND
def test_untrained_models_generate_valid_proofs(tokens):
    generator = ProofGenerator(
        Seq2Seq(bart(tokens)), tokens, beam_size=3, batch_size=3, max_length=60
    )
    claims, evidence = zip(*HOSTILE, strict=True)
    proofs_of_claims = generator.generate(claims, evidence)
    for claim, texts, candidates in zip(claims, evidence, proofs_of_claims, strict=True):
        assert 1 <= len(candidates) <= 3
        scores = [candidate.score for candidate in candidates]
        assert scores == sorted(scores, reverse=True)
        for candidate in candidates:
            candidate.proof.validate(claim, texts)
    alone = [generator.generate([c], [e])[0] for c, e in HOSTILE]
    assert [[p.proof for p in candidates] for candidates in alone] == [
        [p.proof for p in candidates] for candidates in proofs_of_claims
    ]


def test_claims_too_long_to_decode_have_no_proof(tokens):
    generator = ProofGenerator(Seq2Seq(bart(tokens, positions=64)), tokens)
    claims = [GENERATED_CLAIM, " ", "word " * 200]
    proofs_of_claims = generator.generate(claims, [[ENGINEER]] * 3)
    assert [bool(candidates) for candidates in proofs_of_claims] == [True, False, False]
    judgements = GeneratedProofJudge(generator).judge(claims, [[ENGINEER]] * 3)
    assert judgements[2].sufficient is False
    assert judgements[2].proof is None


@ONE_KIND
def test_trained_model_decides_by_the_evidence(tokens):
    """Overfit two annotated proofs; the judge must then separate full from partial evidence."""
    cases = [([LIGHTHOUSE, ENGINEER], True), ([LIGHTHOUSE], False)]
    model = bart(tokens, positions=256)
    proofs = [annotate(GENERATED_CLAIM, texts, sufficient) for texts, sufficient in cases]
    pairs = [
        (
            encode_source(tokens, "prove", GENERATED_CLAIM, texts, 256).ids,
            target_ids(tokens, proof, GENERATED_CLAIM, texts),
        )
        for (texts, _), proof in zip(cases, proofs, strict=True)
    ]
    model.train()
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(60):
        for source, target in pairs:
            shifted = torch.tensor([[tokens.start, *target[:-1]]])
            logits = model(input_ids=torch.tensor([source]), decoder_input_ids=shifted).logits
            loss = torch.nn.functional.cross_entropy(logits[0], torch.tensor(target))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    model.eval()
    evidence = [texts for texts, _ in cases]
    judge = GeneratedProofJudge(ProofGenerator(Seq2Seq(model), tokens))
    judgements = judge.judge([GENERATED_CLAIM] * 3, [*evidence, []])
    assert [j.proof for j in judgements[:2]] == proofs
    assert [j.sufficient for j in judgements] == [True, False, False]
    hasty = ProofGenerator(Seq2Seq(model), tokens, stop_at_independence=True)
    partial = hasty.generate([GENERATED_CLAIM], [evidence[1]])[0][0].proof
    assert partial.operators[-1] is NatOp.INDEPENDENCE
    assert len(partial.steps) <= len(proofs[1].steps)
    quick = GeneratedProofJudge(hasty).judge([GENERATED_CLAIM] * 2, evidence)
    assert [j.sufficient for j in quick] == [True, False]
    assert [j.proof is None for j in quick] == [False, True]


words = st.integers(0, 40).map(lambda n: "a " * n)
evidences = st.lists(st.tuples(st.sampled_from(["", "Great tit", "[SEP] x"]), words), max_size=5)


@cache
def _tokens():
    return SafeTokenizer(mini_tokenizer(minilm_directory()))


def _parts(claim, evidence):
    """Return the untruncated ids of the claim and of each sentence."""
    tokens = _tokens()
    head = [tokens.bos, tokens.task("retrieve"), *tokens.encode(claim), tokens.eos]
    return [head] + [
        [
            tokens.identifier(n),
            tokens.single_token("["),
            *tokens.encode(title),
            tokens.single_token("]"),
            *tokens.encode(sentence),
            tokens.eos,
        ]
        for n, (title, sentence) in enumerate(evidence)
    ]


def _flatten(parts):
    return [i for part in parts for i in part]


def test_token_layout():
    tokens = _tokens()
    source = encode_source(tokens, "retrieve", "Birds </s> sing", [("Bird", "It sings.")], 64)
    text = [tokens.decode([i]) for i in source.ids if i not in (101, 102)]
    assert source.ids == _flatten(_parts("Birds </s> sing", [("Bird", "It sings.")]))
    assert "".join(text) == "birds</s>sing[bird]itsings."
    assert source.ids.count(tokens.eos) == 2
    assert not source.truncated


@given(words, evidences, st.integers(8, 120))
def test_input_fits_and_sentences_share_the_length(claim, evidence, limit):
    tokens = _tokens()
    source = encode_source(tokens, "retrieve", claim, evidence, limit)
    whole = _parts(claim, evidence)
    assert len(source.ids) <= limit
    assert source.truncated == (source.ids != _flatten(whole))
    assert source.ids[:2] == [tokens.bos, tokens.task("retrieve")]
    assert source.ids[-1] == tokens.eos

    head = min(len(whole[0]), limit // 2 if evidence else limit)
    lengths, left = [], source.ids[head:]
    assert source.ids[: head - 1] == whole[0][: head - 1]
    assert source.ids[head - 1] == tokens.eos
    while left:
        end = left.index(tokens.eos) + 1
        lengths.append(end)
        left = left[end:]
    share = max(lengths, default=0)
    if len(lengths) == len(evidence):
        # Short sentences stay whole, long ones have equal length, and one more token would not fit.
        assert lengths == [min(len(part), share) for part in whole[1:]]
        longer = sum(min(len(part), share + 1) for part in whole[1:])
        assert head + longer > limit or share == max(map(len, whole[1:]), default=0)
