"""Generated proofs are valid for any weights, and a trained model generates its training proofs."""

import pytest
import torch

from proofs import GeneratedProofJudge, NatOp, ProofGenerator, annotate, target_ids
from proofs.generation.source_input import encode_source
from tests.proofs.untrained_bart import bart
from trie import Seq2Seq

CLAIM = "The lighthouse was built by an Irish engineer."
LIGHTHOUSE = ("Port Merrow Lighthouse", "The lighthouse was built by Ada Quill.")
ENGINEER = ("Ada Quill", "Ada Quill (born 1873) was an Irish engineer.")
HOSTILE = [
    (CLAIM, [LIGHTHOUSE, ENGINEER]),
    ("} { [ ] # </s>", [("[a]", "} ] = </s> {"), ("", "")]),
    ("Ada", [("\x00\ud800", "İ ﬁne e\u0301 \u200b")]),
    (" ".join(["tower"] * 40), [ENGINEER]),
]


@pytest.mark.parametrize("seed", range(2))
def test_untrained_models_generate_valid_proofs(tokens, seed):
    generator = ProofGenerator(
        Seq2Seq(bart(tokens, seed)), tokens, beam_size=3, batch_size=3, max_length=60
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


@pytest.mark.parametrize("seed", range(2))
def test_covering_proofs_quote_in_every_step(tokens, seed):
    model = bart(tokens, seed)
    generator = ProofGenerator(Seq2Seq(model), tokens, batch_size=3, max_length=100)
    claims, evidence = zip(*HOSTILE, strict=True)
    proofs = generator.cover(claims, evidence)
    for claim, texts, covering in zip(claims, evidence, proofs, strict=True):
        assert covering is not None
        covering.proof.validate(claim, texts)
        sizes = {len(covering.proof.steps), *map(len, covering[1:])}
        assert len(sizes) == 1
        assert all(0 <= p <= 1 for p in (*covering.independent, *covering.unquoted))
    assert all(step.evidence for step in proofs[0].proof.steps[:-1])
    assert [generator.cover([c], [e])[0].proof for c, e in HOSTILE] == [p.proof for p in proofs]


def test_step_probabilities_are_those_of_the_model(tokens):
    """Against a plain forward pass of transformers over the proof's tokens."""
    model = bart(tokens, positions=256)
    texts = [LIGHTHOUSE, ENGINEER]
    (covering,) = ProofGenerator(Seq2Seq(model), tokens).cover([CLAIM], [texts])
    ids = target_ids(tokens, covering.proof, CLAIM, texts)
    source = encode_source(tokens, "prove", CLAIM, texts, 256).ids
    with torch.no_grad():
        logits = model(
            input_ids=torch.tensor([source]),
            decoder_input_ids=torch.tensor([[tokens.start, *ids[:-1]]]),
        ).logits[0]
    opened = [at for at, token in enumerate(ids) if token == tokens.single_token("[")]
    closing = tokens.single_token("]")
    unquoted = [float(logits[at + 1].softmax(-1)[closing]) for at in opened]
    assert list(covering.unquoted) == pytest.approx(unquoted, abs=1e-5)
    operators = [tokens.single_token(symbol) for symbol in "=!|#"]
    after = [ids.index(closing, at) + 1 for at in opened]
    independent = [float(logits[at, operators].softmax(-1)[-1]) for at in after]
    assert list(covering.independent) == pytest.approx(independent, abs=1e-5)


def test_claims_too_long_to_decode_have_no_proof(tokens):
    generator = ProofGenerator(Seq2Seq(bart(tokens, positions=64)), tokens)
    claims = [CLAIM, " ", "word " * 200]
    proofs_of_claims = generator.generate(claims, [[ENGINEER]] * 3)
    assert [bool(candidates) for candidates in proofs_of_claims] == [True, False, False]
    assert [p is not None for p in generator.cover(claims, [[ENGINEER]] * 3)] == [
        True,
        False,
        False,
    ]
    judgements = GeneratedProofJudge(generator).judge(claims, [[ENGINEER]] * 3)
    assert judgements[2].sufficient is False
    assert judgements[2].proof is None


def test_trained_model_decides_by_the_evidence(tokens):
    """Overfit two annotated proofs; the judge must then separate full from partial evidence."""
    cases = [([LIGHTHOUSE, ENGINEER], True), ([LIGHTHOUSE], False)]
    model = bart(tokens, positions=256)
    proofs = [annotate(CLAIM, texts, sufficient) for texts, sufficient in cases]
    pairs = [
        (
            encode_source(tokens, "prove", CLAIM, texts, 256).ids,
            target_ids(tokens, proof, CLAIM, texts),
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
    judgements = judge.judge([CLAIM] * 3, [*evidence, []])
    assert [j.proof for j in judgements[:2]] == proofs
    assert [j.sufficient for j in judgements] == [True, False, False]
    hasty = ProofGenerator(Seq2Seq(model), tokens, stop_at_independence=True)
    partial = hasty.generate([CLAIM], [evidence[1]])[0][0].proof
    assert partial.operators[-1] is NatOp.INDEPENDENCE
    assert len(partial.steps) <= len(proofs[1].steps)
    quick = GeneratedProofJudge(hasty).judge([CLAIM] * 2, evidence)
    assert [j.sufficient for j in quick] == [True, False]
    assert [j.proof is None for j in quick] == [False, True]


def test_invalid_settings_raise(tokens):
    with pytest.raises(ValueError, match="beam_size"):
        ProofGenerator(Seq2Seq(bart(tokens)), tokens, beam_size=0)
