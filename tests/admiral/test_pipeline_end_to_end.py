"""The pipeline over the demo knowledge base with the bundled checkpoint."""

import pytest
import torch

from admiral import Admiral, AdmiralError, Claim, RetrievalConfig
from admiral.models.checkpoint import load_checkpoint
from admiral.retrieval.provenance import recorded_settings
from proofs import Judgement

CLAIMS = [
    Claim("a", "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."),
    Claim("b", "A river of Paris."),
    Claim("c", "The composer of a film by Ridley Scott was born in Frankfurt."),
]


def essence(result):
    return (
        [(d.title, d.hop) for d in result.documents],
        [s.key for s in result.evidence],
        [(h.number, [s.titles for s in h.document_sets], h.proof) for h in result.hops],
        result.stopped,
    )


def scores(result):
    in_sets = [document_set.score for hop in result.hops for document_set in hop.document_sets]
    in_evidence = [sentence.score for hop in result.hops for sentence in hop.evidence]
    return [*(document.score for document in result.documents), *in_sets, *in_evidence]


@pytest.fixture(scope="module")
def result(system):
    return system.retrieve(CLAIMS[0], hops=2)


@pytest.fixture
def two_threads(set_threads):
    set_threads(2)


def test_a_batch_gives_the_same_results_as_single_claims(system, model, two_threads):
    """Here claims stop at different hops, and two threads share the batches."""
    claims = [
        Claim("d", "The mayor of a Norwegian town wrote an opera about a submarine."),
        *CLAIMS[:2],
    ]
    fewer = {"beam_size": 4, "title_beams": 2, "rerank_documents": 4}
    settings = system.config.changed(
        batch_size=4, max_hops=3, stop_at=0.9, precision="fp32", **fewer
    )
    with Admiral.from_pretrained(model, config=settings) as batched:
        together = list(batched.retrieve_many(claims))
        alone = [batched.retrieve(claim) for claim in claims]
    assert [r.claim for r in together] == claims
    assert {len(r.hops) for r in together} == {2, 3}
    assert [essence(r) for r in together] == [essence(r) for r in alone]
    for batch_result, single_result in zip(together, alone, strict=True):
        expected = pytest.approx(scores(single_result), abs=1e-4, rel=0)
        assert scores(batch_result) == expected


@pytest.mark.parametrize(("dtype", "name"), [(torch.float32, "fp32"), (torch.bfloat16, "bf16")])
def test_the_precision_auto_becomes_that_of_the_checkpoint(system, model, dtype, name):
    checkpoint = load_checkpoint(model, dtype=dtype)
    automatic = Admiral(system.kb, checkpoint, RetrievalConfig())
    assert automatic.config.precision == name
    assert recorded_settings(automatic.config)["precision"] == name
    named = Admiral(system.kb, checkpoint, RetrievalConfig(precision="fp32", reranker="bm25"))
    assert named.config.precision == "fp32"


def test_documents_exist_and_include_the_best_set(system, result):
    titles = [d.title for d in result.documents]
    assert len(titles) == len(set(titles)) == system.config.top_k
    assert all(system.kb.row(title) is not None for title in titles)
    assert set(result.hops[-1].document_sets[0].titles) <= set(titles)
    assert [{len(s.titles) for s in hop.document_sets} for hop in result.hops] == [{1}, {2}]
    set_scores = [s.score for s in result.hops[-1].document_sets]
    assert set_scores == sorted(set_scores, reverse=True)
    for sentence in result.evidence:
        assert system.kb.document(sentence.title).sentences[sentence.index] == sentence.text


def test_the_ranking_last_hop_begins_with_the_best_set(system):
    config = system.config.changed(ranking="last-hop")
    result = Admiral(system.kb, system.checkpoint, config).retrieve(CLAIMS[0], hops=2)
    best = result.hops[-1].document_sets[0].titles
    assert tuple(d.title for d in result.documents[: len(best)]) == best


def test_proofs_quote_the_evidence(result):
    for hop in result.hops:
        assert hop.proof is not None
        hop.proof.validate(CLAIMS[0].text, [(s.title, s.text) for s in hop.evidence])
        assert hop.sufficient == hop.proof.sufficient


def test_a_long_claim_is_cut_with_a_warning(system):
    claim = "".join(f"The Danube flows through {n} towns. " for n in range(120)) + "Zanzibar."
    sentences, warning = system.retrieve(claim, hops=1).warnings
    assert sentences.startswith("These are 121 sentences")
    assert "the hop retriever reads 253, the sentence encoder reads 254" in warning
    assert warning.split("cut from: '")[1].rstrip("…'") in claim
    assert system.retrieve(CLAIMS[2], hops=1).warnings == ()


@pytest.mark.parametrize(("tokens", "warnings"), [(253, 0), (254, 1)])
def test_the_warning_counts_tokens(quick, tokens, warnings):
    result = quick.retrieve("a " * (tokens - 1) + "pi", hops=1)
    cut = [warning for warning in result.warnings if "tokens" in warning]
    assert len(cut) == warnings
    for warning in cut:
        assert "254 tokens the hop retriever reads 253; cut from: 'pi'" in warning


def test_an_unknown_or_damaged_model_or_kb_is_named(tmp_path, model):
    with pytest.raises(AdmiralError, match="no-such-model"):
        Admiral.from_pretrained("no-such-model")
    with pytest.raises(AdmiralError, match="no-such-kb"):
        Admiral.from_pretrained(model, kb=tmp_path / "no-such-kb")
    (tmp_path / "config.json").write_text('{"model_type": "bart"}')
    with pytest.raises(AdmiralError, match=r"model\.safetensors"):
        Admiral.from_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(AdmiralError, match="not a usable BART checkpoint"):
        Admiral.from_pretrained(tmp_path)


def test_the_scores_of_the_similarity_reranker_are_cosines(quick):
    config = quick.config.changed(reranker="similarity")
    result = Admiral(quick.kb, quick.checkpoint, config).retrieve(CLAIMS[0], hops=1)
    assert any("Emmy" in s.title for s in result.evidence)
    assert all(-1.001 <= s.score <= 1.001 for s in result.evidence)


@pytest.mark.parametrize("judge", ["generated", "classifier"])
def test_a_judge_accepts_as_many_sentences_as_its_model_can_name(quick, judge):
    system = Admiral(quick.kb, quick.checkpoint, quick.config.changed(judge=judge))
    evidence = [("A", f"It is {number}.") for number in range(343)]
    assert isinstance(system.prove("It is 7.", evidence[:342]), Judgement)
    with pytest.raises(AdmiralError, match=r"^evidence: 343 sentences .* so give 342 or less$"):
        system.prove("It is 7.", evidence)
