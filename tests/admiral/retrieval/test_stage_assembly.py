"""The stages that the settings name: rerankers, document scorer and limits."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from admiral import Admiral, AdmiralError, RetrievalConfig
from admiral.kb import KnowledgeBase, build, embed
from admiral.models.checkpoint import SUFFICIENCY_HEAD, load_checkpoint
from admiral.protocols import claim_limits, max_evidence
from admiral.records import Sentence
from admiral.requirements import minilm_directory
from admiral.retrieval.document_ranking import NetworkDocumentScorer
from admiral.retrieval.hop_retriever import TrieHopRetriever
from admiral.retrieval.provenance import recorded_settings
from admiral.retrieval.stage_assembly import (
    Models,
    build_document_scorer,
    build_generator,
    build_judge,
    build_reranker,
    build_sentence_encoder,
    build_stages,
    open_judge,
    open_lexicon,
)
from proofs import NatOp, NeverSufficient
from proofs.judges.judgement import LexicalJudge
from proofs.judges.verifier_judge import VerifierJudge
from tests.proofs.judges.test_judgement import check
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from tests.training.tiny import write_hub_directory

CLAIM = "Ada Lovelace was born in London in 1815."
EVIDENCE = [("Ada Lovelace", "Ada Lovelace was born in London in 1815.")]


@pytest.fixture
def checkpoint(system, tmp_path):
    """The bundled checkpoint, as if loaded from an empty directory."""
    return replace(system.checkpoint, path=tmp_path)


def test_evidence_is_limited_by_the_identifiers_of_the_vocabulary(quick):
    """After its ten identifiers, ``mini`` names sentences by the numbers that are one token."""
    settings = quick.config.changed(evidence=342, evidence_per_document=342)
    system = Admiral(quick.kb, quick.checkpoint, settings)
    assert len(system.retrieve(CLAIM, hops=2).hops) == 2
    with pytest.raises(AdmiralError, match=r"'evidence': 343 is .* so give 342 or less$"):
        build_stages(quick.kb, quick.checkpoint, settings.changed(evidence=343))


def test_the_reranker_reads_the_vectors_of_the_knowledge_base(system, tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"title": "Ada Lovelace", "text": EVIDENCE[0][1]}))
    build(corpus, tmp_path / "kb", bm25="none", progress=False)
    config = system.config.changed(reranker="similarity")

    def score():
        with KnowledgeBase.open(tmp_path / "kb") as kb:
            reranker = build_reranker(system.checkpoint, config, kb)
            documents = [kb.document("Ada Lovelace")]
            return reranker.score([CLAIM], [documents], [[]])[0][0].score

    computed = score()
    embed(tmp_path / "kb", build_sentence_encoder(config), progress=False)
    assert score() != computed
    assert score() == pytest.approx(computed, abs=0.003)


def test_the_sentence_encoder_is_a_setting(system, tmp_path):
    config = system.config.changed(sentence_encoder=str(minilm_directory()))
    ours, other = build_sentence_encoder(system.config), build_sentence_encoder(config)
    assert ours.identity != other.identity
    assert ours.identity.name == "mini-encoder"
    config = config.changed(sentence_encoder=str(tmp_path))
    with pytest.raises(AdmiralError, match=r"no model\.safetensors"):
        build_sentence_encoder(config)


def test_without_a_generator_nothing_is_decoded(quick, monkeypatch):
    monkeypatch.setattr("admiral.retrieval.hop_retriever.beam_search", None)
    monkeypatch.setattr(type(quick.kb), "title_trie", None)
    config = quick.config.changed(generator=False, title_beams=5, hops="3", judge="never")
    system = Admiral(quick.kb, quick.checkpoint, config)
    result = system.retrieve(CLAIM)
    assert [bool(hop.document_sets) for hop in result.hops] == [True, False, False]
    assert all(hop.evidence for hop in result.hops)
    assert "the hop retriever" not in system.stages.claim_limits


def test_aliases_may_be_left_out_of_the_mentions(quick, tmp_path):
    corpus = tmp_path / "corpus.jsonl"
    text = "The World Health Organization (WHO) is an agency."
    corpus.write_text(json.dumps({"title": "World Health Organization", "text": text}))
    build(corpus, tmp_path / "kb", bm25="none", progress=False)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        found = []
        for aliases in (True, False):
            config = quick.config.changed(generator=False, aliases=aliases)
            finder = build_stages(kb, quick.checkpoint, config).mention_finder
            assert finder is not None
            found.append(finder.in_text("The WHO is an agency."))
    assert found == [["World Health Organization"], []]


@pytest.mark.parametrize(
    ("reranker", "limits"),
    [
        ("bm25", {}),
        ("similarity", {"the sentence encoder": 254}),
        ("cross-encoder", {"the cross-encoder": 99}),
        ("combined", {"the sentence encoder": 254}),
    ],
)
def test_rerankers_state_how_much_of_a_claim_they_read(system, reranker, limits):
    config = system.config.changed(reranker=reranker)
    assert claim_limits(build_reranker(system.checkpoint, config)) == limits


def test_the_limits_of_all_stages_are_combined(system):
    assert system.stages.claim_limits == {
        "the sentence encoder": 254,
        "the hop retriever": 253,
    }
    assert system.stages.max_evidence == 342
    assert max_evidence(system.stages.judge) is None


def test_the_weights_of_the_document_scorer_are_a_setting(system, tmp_path):
    path = tmp_path / "ranking.json"
    config = system.config.changed(ranking_weights=str(path))
    with pytest.raises(AdmiralError, match=r"'ranking_weights': .*ranking\.json: not a file of"):
        build_document_scorer(config)
    other = NetworkDocumentScorer(NetworkDocumentScorer.bundled().units[:1])
    path.write_text(other.to_json())
    assert build_document_scorer(config) == other
    assert build_document_scorer(system.config) == NetworkDocumentScorer.bundled()
    for ranking in ("fused", "last-hop"):
        assert build_document_scorer(config.changed(ranking=ranking)) is None


@pytest.mark.parametrize(
    ("name", "with_proof"), [("never", False), ("always", False), ("lexical", True)]
)
def test_some_judges_use_no_model(system, checkpoint, name, with_proof):
    judge = build_judge(checkpoint, system.config.changed(judge=name))
    (judgement,) = judge.judge([CLAIM], [EVIDENCE])
    assert judgement.sufficient == (name != "never")
    assert (judgement.proof is not None) == with_proof


def test_the_verifier_needs_no_file_of_the_checkpoint(system, checkpoint):
    judge = build_judge(checkpoint, system.config.changed(judge="verifier"))
    covered, not_covered = judge.judge([CLAIM] * 2, [EVIDENCE, [("Rain", "It rains.")]])
    assert covered.proof is not None
    assert covered.sufficient
    assert not not_covered.sufficient


def test_without_a_verifier_words_decide(system, checkpoint):
    settings = system.config.changed(judge="verifier", verifier="")
    judge = build_judge(checkpoint, settings)
    (judgement,) = judge.judge([CLAIM], [EVIDENCE])
    assert judgement == LexicalJudge().judge([CLAIM], [EVIDENCE])[0]
    assert judgement.verdicts is None


def test_a_verifier_adds_probabilities(system, checkpoint, tmp_path):
    folder = write_classifier_directory(tmp_path / "model")
    settings = system.config.changed(judge="verifier", verifier=str(folder))
    judge = build_judge(checkpoint, settings)
    assert isinstance(judge, VerifierJudge)
    (judgement,) = judge.judge([CLAIM], [EVIDENCE])
    assert judgement.probability is not None
    assert judgement.verdicts is not None
    for stop_at, expected in ((1e-6, True), (1.0, False)):
        strict = build_judge(checkpoint, settings.changed(stop_at=stop_at))
        (decided,) = strict.judge([CLAIM], [EVIDENCE])
        assert decided.sufficient is expected
    # Other judges do not read it.
    assert isinstance(build_judge(checkpoint, settings.changed(judge="never")), NeverSufficient)


def test_a_bad_verifier_is_named(system, checkpoint, tmp_path):
    settings = system.config.changed(judge="verifier", verifier=str(tmp_path / "none"))
    with pytest.raises(
        AdmiralError, match=r"^setting 'verifier': .*none': no such directory; give that of a"
    ):
        build_judge(checkpoint, settings)
    folder = write_classifier_directory(tmp_path / "model")
    (folder / "calibration.json").write_text("[]")
    with pytest.raises(AdmiralError, match=r"^setting 'verifier': .*should be an object"):
        build_judge(checkpoint, settings.changed(verifier=str(folder)))


def test_the_classifier_loads_its_head(system, checkpoint):
    settings = system.config.changed(judge="classifier")
    with pytest.raises(AdmiralError, match="fit one with"):
        build_judge(checkpoint, settings)
    width = 2 * 384
    for bias in (1.0, -1.0):
        head = {"weight": torch.zeros(width), "bias": torch.tensor(bias)}
        save_file(head, checkpoint.path / SUFFICIENCY_HEAD)
        (judgement,) = build_judge(checkpoint, settings).judge([CLAIM], [EVIDENCE])
        assert judgement.sufficient == (bias > 0)
        assert judgement.proof is None


def test_the_generated_proof_may_stop_early(system, checkpoint):
    claims, evidence = [CLAIM] * 2, [EVIDENCE, [("Rain", "It rains.")]]
    settings = system.config.changed(judge="generated")
    whole = build_judge(checkpoint, settings).judge(claims, evidence)
    early = build_judge(checkpoint, settings.changed(early_exit=True)).judge(claims, evidence)
    assert all(judgement.proof is not None for judgement in whole)
    for judgement in early:
        assert (judgement.proof is None) == (not judgement.sufficient)
    assert not early[1].sufficient


def test_word_lists_extend_the_built_in_lexicon(tmp_path):
    antonyms, paraphrases = tmp_path / "antonyms.txt", tmp_path / "paraphrases.txt"
    antonyms.write_text("en_alive en_dead\n")
    paraphrases.write_text("wed married\n")
    plain = open_lexicon(RetrievalConfig())
    lists = RetrievalConfig(antonyms=str(antonyms), paraphrases=str(paraphrases))
    lexicon = open_lexicon(lists)
    for first, second, operator in [
        ("alive", "dead", NatOp.NEGATION),
        ("married", "wed", NatOp.EQUIVALENCE),
    ]:
        assert lexicon.relation(first, second) is operator
        assert plain.relation(first, second) is None
    assert lexicon.relation("in 1873", "in 1874") is NatOp.ALTERNATION
    assert lists.settings() != RetrievalConfig().settings()


@pytest.mark.parametrize("key", ["antonyms", "paraphrases"])
def test_errors_in_word_lists_name_the_setting_and_the_file(tmp_path, key):
    path = tmp_path / "list.txt"
    settings = {key: str(path)}
    with pytest.raises(AdmiralError, match=rf"'{key}': .*list\.txt: cannot be read: No such file"):
        open_lexicon(RetrievalConfig(**settings))
    path.write_text("a b\nlonely\n")
    with pytest.raises(AdmiralError, match=rf"'{key}': .*list\.txt:2: expected two words"):
        open_lexicon(RetrievalConfig(**settings))


DEMO = Path(__file__).parents[3] / "admiral" / "data" / "demo"
SENTENCES = {
    document["title"]: document["sentences"]
    for document in map(json.loads, (DEMO / "documents.jsonl").read_text().splitlines())
}
CLAIMS = [json.loads(line) for line in (DEMO / "claims.jsonl").read_text().splitlines()][::8]


@pytest.mark.parametrize("stop_at", [0.5, 0.7])
def test_every_demo_claim_is_judged_without_contradiction(stop_at):
    judge = open_judge(RetrievalConfig(stop_at=stop_at))
    complete = [
        [(title, SENTENCES[title][number]) for title, number in claim["evidence"]]
        for claim in CLAIMS
    ]
    # All gold sentences, all but the last, and the first ones with those of another claim.
    for evidence in (
        complete,
        [texts[:-1] or texts for texts in complete],
        [[*texts[:2], *complete[at - 1]] for at, texts in enumerate(complete)],
    ):
        claims = [claim["claim"] for claim in CLAIMS]
        for claim, texts, judged in zip(
            claims, evidence, judge.judge(claims, evidence), strict=True
        ):
            check(judged.located(claim, texts), claim, texts, stop_at)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A checkpoint with another tokenizer, and digits as identifiers."""
    return write_hub_directory(tmp_path_factory.mktemp("models") / "other", positions=512)


def titles_and_scores(found):
    """Return the document sets of all claims, and their scores, which other batches round."""
    sets = [one for own in found for one in own]
    return [one.titles for one in sets], [one.score for one in sets]


def test_each_hop_has_its_retriever(quick, other):
    config = quick.config.changed(retriever_models=f"mini, {other}", title_beams=2)
    mixed = build_stages(quick.kb, quick.checkpoint, config)
    alone = [
        build_stages(quick.kb, checkpoint, quick.config.changed(title_beams=2))
        for checkpoint in (quick.checkpoint, load_checkpoint(other))
    ]
    evidence = [Sentence(*EVIDENCE[0][:1], 0, EVIDENCE[0][1]), Sentence("London", 0, "A city.")]
    claims, read, hops = [CLAIM] * 4, [(), evidence, evidence, evidence], [0, 1, 2, 3]
    found = mixed.hop_retriever.expand(claims, read, hops)
    mini, second = (stages.hop_retriever.expand(claims, read, hops) for stages in alone)
    sets, scores = titles_and_scores(found)
    expected_sets, expected = titles_and_scores([*mini[:2], *second[2:]])
    assert sets == expected_sets
    assert scores == pytest.approx(expected, abs=1e-5)
    assert titles_and_scores(mini[2:]) != titles_and_scores(second[2:])
    limits = claim_limits(mixed.hop_retriever)
    assert list(limits) == [f"the hop retriever of hop {hop}" for hop in range(3)]
    least = min(max_evidence(stages.hop_retriever) for stages in alone)
    assert max_evidence(mixed.hop_retriever) == least


def test_a_checkpoint_of_several_settings_is_loaded_once(quick, other, monkeypatch):
    config = quick.config.changed(
        retriever_models=f"{other},{other}", title_model=str(other), prover="mini"
    )
    models = Models(quick.checkpoint, config)
    assert {id(each) for each in models.by_hop()} == {id(models["title_model"])}
    assert models["prover"] is quick.checkpoint
    assert models["reranker_model"] is quick.checkpoint
    assert isinstance(build_generator(quick.kb, models, config), TrieHopRetriever)


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("title_model", {}),
        ("retriever_models", {}),
        ("reranker_model", {"reranker": "cross-encoder"}),
        ("prover", {"judge": "generated"}),
    ],
)
def test_a_checkpoint_that_is_missing_is_named_with_its_setting(quick, tmp_path, key, settings):
    config = quick.config.changed(**settings, **{key: str(tmp_path / "nowhere")})
    with pytest.raises(AdmiralError, match=rf"^setting '{key}': .*nowhere"):
        build_stages(quick.kb, quick.checkpoint, config)


def test_the_prover_and_the_reranker_have_checkpoints_of_their_own(quick, other, tmp_path):
    config = quick.config.changed(judge="generated", prover=str(other))
    judged = build_stages(quick.kb, quick.checkpoint, config).judge.judge([CLAIM], [EVIDENCE])
    alone = build_judge(load_checkpoint(other), config.changed(prover=""))
    assert judged == alone.judge([CLAIM], [EVIDENCE])
    assert open_judge(config).judge([CLAIM], [EVIDENCE]) == judged
    config = quick.config.changed(reranker="cross-encoder", reranker_model=str(other))
    with pytest.raises(AdmiralError, match=r"models.*other"):  # it has no head
        build_stages(quick.kb, quick.checkpoint, config)


def test_results_record_which_checkpoints_were_used(quick, other):
    config = quick.config.changed(retriever_models=f"mini, {other}", title_model=str(other))
    recorded = recorded_settings(config)
    assert recorded["retriever_models"].startswith("mini,other (")
    assert recorded["title_model"] == recorded["retriever_models"].removeprefix("mini,")
