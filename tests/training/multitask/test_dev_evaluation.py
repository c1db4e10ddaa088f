"""Development metrics: of an overfitted model, of fake retrievers, and of no samples."""

import math

import pytest

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase
from admiral.models.checkpoint import load_checkpoint
from admiral.records import Document, DocumentSet
from admiral.retrieval.rerankers import PointwiseReranker
from tests.training.tiny import RIVERS, elsewhere, prepare, some_samples, train, write_t5_directory
from training.data.samples import RerankSample, RetrieveSample
from training.multitask import multitask_program
from training.multitask.multitask_model import open_initial_checkpoint
from training.multitask.multitask_program import Evaluator, metrics
from training.multitask.multitask_settings import METRICS
from trie.safe_tokenizer import TASKS


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("evaluation"))


@pytest.fixture(scope="module")
def overfitted(config):
    """Settings that start from a checkpoint that was overfitted to its few samples."""
    longer = elsewhere(config, "learnt").changed(
        steps=200, warmup_steps=20, batch_tokens=1024, rerank_tokens=4096
    )
    longer = longer.changed(dev="", save_every=200, log_every=100)
    train(longer, TASKS)
    return config.changed(start=longer.out)


def test_an_overfitted_model_scores_high(overfitted):
    start = open_initial_checkpoint(overfitted, TASKS)
    with KnowledgeBase.open(overfitted.kb) as kb:
        measured = metrics(Evaluator(start, some_samples(), kb, overfitted).sums())
    assert measured["retrieve_top1"] > 0.9
    assert measured["rerank_mrr"] > 0.9 and measured["rerank_recall5"] == 1.0
    assert measured["prove_accuracy"] > 0.9 and measured["prove_exact"] > 0.8
    assert set(measured) == {"score", *(name for names in METRICS.values() for name in names)}
    firsts = [measured[names[0]] for names in METRICS.values()]
    assert measured["score"] == pytest.approx(sum(firsts) / 3)


def test_a_model_can_learn_document_sets_as_titles(config):
    tasks = ("retrieve",)
    titles = elsewhere(config, "titles").changed(target="titles", steps=200, warmup_steps=20)
    titles = titles.changed(batch_tokens=1024, dev="", save_every=200, log_every=100)
    train(titles, tasks)
    samples = [sample for sample in some_samples() if isinstance(sample, RetrieveSample)]
    start = open_initial_checkpoint(titles.changed(start=titles.out), tasks)
    with KnowledgeBase.open(titles.kb) as kb:
        measured = metrics(Evaluator(start, samples, kb, titles).sums())
        other = metrics(Evaluator(start, samples, kb, titles.changed(target="sentences")).sums())
    assert measured["retrieve_top1"] > 0.9
    assert other["retrieve_top1"] < measured["retrieve_top1"]


def test_a_t5_can_learn_to_rerank_one_sentence_at_a_time(tmp_path):
    config = prepare(tmp_path, write_t5_directory)
    config = config.changed(reranker="pointwise", batch_tokens=1024, log_every=100)
    config = config.changed(steps=120, warmup_steps=20, save_every=120)
    train(config, ("rerank",))
    samples = [sample for sample in some_samples() if isinstance(sample, RerankSample)]
    before, after = (
        metrics(Evaluator(open_initial_checkpoint(one, ("rerank",)), samples, None, one).sums())
        for one in (config, config.changed(start=config.out))
    )
    assert before["rerank_recall5"] < after["rerank_recall5"] == 1
    checkpoint = load_checkpoint(config.out)
    assert checkpoint.head is None
    documents = [[Document(d.title, d.sentences) for d in s.documents] for s in samples]
    claims = [sample.claim for sample in samples]
    for claim, ranking in zip(
        claims, PointwiseReranker(checkpoint).score(claims, documents, [()] * 4), strict=True
    ):
        scores = {sentence.text: sentence.score for sentence in ranking}
        assert (
            scores[claim] > 0 > max(scores[f"The {river} is a river."] for river in RIVERS.values())
        )


def test_samples_with_unknown_titles_are_left_out(config):
    start = open_initial_checkpoint(config, ("retrieve",))
    strange = [RetrieveSample("Ur is a city.", (), 0, ("Ur",))] * 3
    known = [s for s in some_samples() if isinstance(s, RetrieveSample)][:2]
    with KnowledgeBase.open(config.kb) as kb:
        measured = Evaluator(start, strange + known, kb, config).sums()
        assert measured["retrieve_top1"][1] == 2
        with pytest.raises(AdmiralError, match="none of its titles is in the knowledge base"):
            Evaluator(start, strange, kb, config)


def test_any_gold_document_set_counts_and_the_mass_is_summed(config, monkeypatch):
    """A fake retriever returns the same document sets for every sample."""

    class FakeRetriever:
        def __init__(self, *_, **__):
            pass

        def expand(self, claims, *_):
            sets = [
                DocumentSet(("Paris", "Rome"), math.log(0.5)),
                DocumentSet(("Oslo",), math.log(0.25)),
            ]
            return [sets for _ in claims]

    monkeypatch.setattr(multitask_program, "TrieHopRetriever", FakeRetriever)
    evidence = (("Rome", "Rome is a city."), ("Paris", "Paris is a city."))
    either = RetrieveSample("Rome and Paris are cities.", evidence, 1, ("Rome", "Paris"))
    second = RetrieveSample("Oslo is a city.", (), 0, ("Oslo",))
    absent = RetrieveSample("Bern is a city.", (), 0, ("Bern",))
    start = open_initial_checkpoint(config, ("retrieve",))
    with KnowledgeBase.open(config.kb) as kb:
        measured = metrics(Evaluator(start, [either, second, absent], kb, config).sums())
    assert measured["retrieve_top1"] == pytest.approx(1 / 3)
    assert measured["retrieve_top5"] == measured["retrieve_found"] == pytest.approx(2 / 3)
    assert measured["retrieve_mass"] == pytest.approx(0.75)
    assert measured["score"] == measured["retrieve_top1"]
