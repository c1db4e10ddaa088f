"""The pipeline with fake stages: claims in, results out, threads, errors and closing."""

import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import Queue
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from admiral import Admiral, AdmiralError, Claim
from admiral.io.claims import Prefetch
from tests.admiral.retrieval.fakes import (
    FakeDocuments,
    FakeDocumentScorer,
    FakeFirstStage,
    FakeHopRetriever,
    FakeJudge,
    FakeMentionFinder,
    FakeReranker,
    fake_stages,
    small_config,
)

CLAIMS = [Claim("a", "A claim."), Claim("b", "Another claim."), Claim("c", "A third claim.")]


class FakeKnowledgeBase(FakeDocuments):
    """Documents that can be closed."""

    closed = False
    has_origins = False

    def close(self):
        self.closed = True


def fake_system(stages=None, **settings):
    model = SimpleNamespace(device=torch.device("cpu"), dtype=torch.float32)
    checkpoint = SimpleNamespace(model=model, tokens=None)
    kb = FakeKnowledgeBase()
    return Admiral(kb, checkpoint, small_config(**settings), stages or fake_stages())


class CallbackJudge(FakeJudge):
    """Call a function before judging."""

    def __init__(self, callback):
        super().__init__()
        self._callback = callback

    def judge(self, claims, evidence):
        self._callback()
        return super().judge(claims, evidence)


def test_results_are_in_the_order_of_the_claims():
    claims = [Claim(str(number), f"Claim {number}.") for number in range(50)]
    results = list(fake_system(batch_size=4, threads=4).retrieve_many(claims))
    assert [result.claim for result in results] == claims
    assert {(len(result.hops), result.stopped) for result in results} == {(2, "sufficient")}


def test_the_argument_hops_replaces_the_setting():
    system = fake_system(hops="3")
    assert len(system.retrieve(CLAIMS[0]).hops) == 3
    assert len(system.retrieve(CLAIMS[0], hops=1).hops) == 1
    assert len(system.retrieve(CLAIMS[0], hops="dynamic").hops) == 2
    with pytest.raises(AdmiralError, match="hops"):
        system.retrieve(CLAIMS[0], hops="many")


def test_a_search_that_reaches_a_dead_end_has_a_result():
    stages = fake_stages(hop_retriever=FakeHopRetriever(dead_end_at=1))
    result = fake_system(stages).retrieve(CLAIMS[0])
    assert (len(result.hops), result.stopped) == (1, "dead_end")
    assert result.documents
    assert result.evidence


def test_every_stage_can_be_replaced():
    """`dataclasses.replace` on `Admiral.stages` reaches all that the pipeline uses."""
    system = fake_system(ranking="fused")
    first = system.retrieve("about z", hops=1)
    assert [d.title for d in first.documents] == ["a", "b", "c"]
    system.stages = replace(system.stages, first_stage=FakeFirstStage("xyz"))
    assert [d.title for d in system.retrieve("about z", hops=1).documents] == ["x", "y", "z"]
    system.stages = replace(system.stages, mention_finder=FakeMentionFinder())
    assert system.retrieve("about z", hops=1).documents[0].title == "z"
    system.stages = replace(system.stages, reranker=FakeReranker({"y": 9}))
    assert system.retrieve("about z", hops=1).evidence[0].title == "y"
    ranked = [d.title for d in system.retrieve("about z", hops=1).documents]
    system.stages = replace(system.stages, document_scorer=FakeDocumentScorer(0, 0.0))
    reranked = [d.title for d in system.retrieve("about z", hops=1).documents]
    assert reranked == ranked[::-1]
    system.stages = replace(system.stages, judge=FakeJudge(99))
    assert system.retrieve("about z", hops="2").stopped == "max_hops"
    system.stages = replace(system.stages, hop_retriever=FakeHopRetriever(dead_end_at=1))
    assert system.retrieve("about z", hops="dynamic").stopped == "dead_end"


def test_search_states_are_the_states_behind_the_results():
    system = fake_system()
    (state,) = system.search_states(CLAIMS[:1])
    result = system.retrieve(CLAIMS[0])
    assert [hop.evidence for hop in state.hops] == [hop.evidence for hop in result.hops]
    assert state.stopped == result.stopped


def test_scores_may_be_numpy_scalars_and_minus_infinity_leaves_out():
    class NumpyReranker(FakeReranker):
        def score(self, *args):
            return [
                [replace(s, score=np.float32(s.score)) for s in sentences]
                for sentences in super().score(*args)
            ]

    reranker = NumpyReranker({"b": -math.inf})
    result = fake_system(fake_stages(reranker=reranker)).retrieve(CLAIMS[0], hops=2)
    json.dumps(result.to_json(), allow_nan=False)
    assert result.evidence
    assert all("b" not in {s.title for s in hop.evidence} for hop in result.hops)
    reranker.scores = {"b": math.nan}
    with pytest.raises(AdmiralError, match=r"stage 'reranker': a score is nan, of .*'b'"):
        fake_system(fake_stages(reranker=reranker)).retrieve(CLAIMS[0])


def test_a_reranker_may_leave_sentences_out():
    class Best(FakeReranker):
        def score(self, *args):
            return [sentences[:1] for sentences in super().score(*args)]

    result = fake_system(fake_stages(reranker=Best())).retrieve(CLAIMS[0], hops=3)
    assert (len(result.hops), len(result.evidence)) == (3, 1)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_claim_is_an_error_after_the_results_before_it(text):
    results = fake_system().retrieve_many([*CLAIMS, Claim("7", text), CLAIMS[0]])
    assert [next(results).claim for _ in CLAIMS] == CLAIMS
    with pytest.raises(AdmiralError, match="claim '7': is empty"):
        next(results)


def test_claims_may_be_texts_with_their_numbers_as_ids():
    system = fake_system()
    results = list(system.retrieve_many(["One.", CLAIMS[0], "One."]))
    assert [result.claim for result in results] == [
        Claim("1", "One."),
        CLAIMS[0],
        Claim("3", "One."),
    ]
    with pytest.raises(AdmiralError, match="claims: is a single text; give a list"):
        next(system.retrieve_many("One."))
    claims = ["One.", {"claim": "A river."}]
    stream = system.retrieve_many(claims)
    assert next(stream).claim.id == "1"
    with pytest.raises(AdmiralError, match="claim 2: is of type dict; give a text or a Claim"):
        next(stream)


@pytest.mark.parametrize("claim", [None, 5])
def test_a_claim_of_another_type_is_an_error(claim):
    with pytest.raises(AdmiralError, match="claim 1: is of type"):
        fake_system().retrieve(claim)


def test_settings_of_another_type_are_an_error():
    with pytest.raises(AdmiralError, match="config: is of type dict; give a RetrievalConfig"):
        Admiral.from_pretrained(config={"hops": 1})


def test_invalid_settings_are_an_error():
    with pytest.raises(AdmiralError, match="setting 'hops': '-1' should match"):
        list(fake_system().retrieve_many(["A."], hops=-1))


def test_claims_that_have_arrived_do_not_wait_for_later_ones():
    queue = Queue()
    queue.put(CLAIMS[0])
    results = fake_system().retrieve_many(Prefetch(iter(queue.get, None)))
    assert next(results).claim == CLAIMS[0]
    queue.put(CLAIMS[1])
    assert next(results).claim == CLAIMS[1]
    queue.put(None)
    assert list(results) == []


def test_lone_surrogates_and_nul_are_replaced():
    judge = FakeJudge()
    system = fake_system(fake_stages(judge=judge))
    assert (
        system.retrieve("The Emmy\ud800 Awards\x00.").claim.text == "The Emmy\ufffd Awards\ufffd."
    )
    system.prove("Emmy\ud800", [("A\ud800", "An Emmy\udfff.")])
    assert judge.calls[-1] == (["Emmy\ufffd"], [[("A\ufffd", "An Emmy\ufffd.")]])


@pytest.mark.parametrize("pair", ["s", ("s",), ("a", "b", "c"), (1, "s"), None])
def test_evidence_must_be_pairs_of_texts(pair):
    with pytest.raises(AdmiralError, match=r"evidence 2: is not a \(title, sentence\) pair"):
        fake_system().prove("a", [("", "s"), pair])
    with pytest.raises(AdmiralError, match="claim: is of type NoneType; give a text"):
        fake_system().prove(None, [])


def test_a_judge_states_how_much_evidence_it_accepts():
    judge = FakeJudge()
    judge.max_evidence = 2
    system = fake_system(fake_stages(judge=judge))
    assert system.prove("A claim.", [("A", "s")] * 2).sufficient
    with pytest.raises(AdmiralError, match=r"^evidence: 3 sentences .* so give 2 or less$"):
        system.prove("A claim.", [("A", "s")] * 3)


def test_all_threads_use_the_configured_number_of_torch_threads(set_threads):
    set_threads(2)
    seen = []
    stages = fake_stages(judge=CallbackJudge(lambda: seen.append(torch.get_num_threads())))
    system = fake_system(stages, threads=3, hops="1", batch_size=1)
    system.retrieve(CLAIMS[0])
    with ThreadPoolExecutor(1) as pool:
        pool.submit(system.retrieve, CLAIMS[0]).result()
    assert seen == [3, 3]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 8])
def test_a_claim_gets_the_same_result_in_any_batch(batch_size):
    claims = [Claim(str(number), f"about {'xyz'[: number % 4]}") for number in range(7)]
    alone = [fake_system().retrieve(claim) for claim in claims]
    together = list(fake_system(batch_size=batch_size).retrieve_many(claims))
    assert [unlike_times(result) for result in together] == list(map(unlike_times, alone))


def unlike_times(result):
    """Return the record of a result without the seconds of its hops."""
    record = result.to_json()
    return record | {"hops": [hop | {"seconds": None} for hop in record["hops"]]}


def test_close_waits_for_running_calls_and_later_calls_are_errors():
    started, may_continue, closed = threading.Event(), threading.Event(), threading.Event()

    def wait():
        started.set()
        assert may_continue.wait(timeout=10)

    def close():
        system.close()
        closed.set()

    system = fake_system(batch_size=2)
    kb = system.kb
    suspended = system.retrieve_many(CLAIMS * 9, hops=1)
    assert next(suspended).claim == CLAIMS[0]
    system.stages = replace(system.stages, judge=CallbackJudge(wait))
    with ThreadPoolExecutor(2) as pool:
        retrieving = pool.submit(system.retrieve, CLAIMS[0], 2)
        assert started.wait(timeout=10)
        closing = pool.submit(close)
        assert not closed.wait(0.05)
        assert not kb.closed
        may_continue.set()
        assert len(retrieving.result().hops) == 2
        closing.result()
    assert kb.closed
    calls = [
        lambda: system.retrieve(CLAIMS[0]),
        lambda: list(system.retrieve_many(CLAIMS)),
        lambda: list(system.retrieve_many([])),
        lambda: next(suspended),
        lambda: system.prove(CLAIMS[0].text, [("A", "An Emmy.")]),
    ]
    for call in calls:
        with pytest.raises(AdmiralError, match=r"^the system was closed\. Open another one\.$"):
            call()
    system.close()


def test_the_context_manager_closes():
    with fake_system() as system:
        kb = system.kb
        assert not kb.closed
    assert kb.closed
