"""The pipeline over the demo knowledge base with the bundled checkpoint."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np
import pytest
import torch

from admiral import Admiral, AdmiralError, Claim, RetrievalConfig, RetrievalResult
from admiral.io.prefetch import Arriving
from admiral.models.checkpoint import load_checkpoint
from admiral.records import Document, DocumentSet, ScoredTitle, Sentence
from admiral.retrieval.provenance import recorded_settings
from admiral.retrieval.stage_assembly import Stages
from proofs import Judgement
from proofs.judges.basic import AlwaysSufficient, NeverSufficient
from tests.trie.processor import SAME_BITS
from trie.model.int8 import int8_works

CLAIMS = [
    Claim("a", "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."),
    Claim("b", "A river of Paris."),
    Claim("c", "The composer of a film by Ridley Scott was born in Frankfurt."),
]


@contextmanager
def swapped(system: Admiral, **stages: object) -> Iterator[Admiral]:
    """The system with some of its stages replaced, until the end of the block."""
    old: Stages = system.stages
    system.stages = replace(old, **stages)  # type: ignore[arg-type]
    try:
        yield system
    finally:
        system.stages = old


def essence(result: RetrievalResult) -> object:
    """What must not depend on the batch that a claim travelled in."""
    return (
        [(d.title, d.hop) for d in result.documents],
        [s.key for s in result.evidence],
        [(h.number, [s.titles for s in h.document_sets], h.proof) for h in result.hops],
        result.stopped,
    )


@pytest.fixture
def two_threads(set_threads: Callable[[int], None]) -> None:
    set_threads(2)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_batch_gives_the_same_as_one_claim_at_a_time(
    system: Admiral, model: Path, precision: str, two_threads: None
) -> None:
    """Claims stop at different hops here, and two threads share the batches."""
    if precision == "bf16" and not SAME_BITS:
        pytest.skip("this processor's bfloat16 may tell document sets of nearly one score apart")
    claims = [Claim("d", "A village in Bolivia has a lighthouse built by a dentist."), *CLAIMS]
    settings = replace(system.config, batch_size=4, max_hops=3, precision=precision)
    with Admiral.from_pretrained(model, config=settings) as batched:
        together = list(batched.retrieve_many(claims))
        alone = [batched.retrieve(claim) for claim in claims]
    assert [r.claim for r in together] == claims
    assert {len(r.hops) for r in together} == {2, 3}
    assert [essence(r) for r in together] == [essence(r) for r in alone]
    for one, other in zip(together, alone, strict=True):
        # Products of a few rows in float32 are added up in another order by two threads.
        gap = 0 if precision == "bf16" else 1e-4
        assert scores(one) == pytest.approx(scores(other), abs=gap, rel=0)


@pytest.mark.parametrize(("dtype", "name"), [(torch.float32, "fp32"), (torch.bfloat16, "bf16")])
def test_the_precision_is_that_of_the_checkpoint_unless_it_is_named(
    system: Admiral, model: Path, dtype: torch.dtype, name: str
) -> None:
    checkpoint = load_checkpoint(model, dtype=dtype)
    made = Admiral(system.kb, checkpoint, RetrievalConfig())
    assert made.config.precision == name
    assert recorded_settings(made.config)["precision"] == name
    named = Admiral(system.kb, checkpoint, RetrievalConfig(precision="int8", reranker="bm25"))
    assert named.config.precision == "int8"


def scores(result: RetrievalResult) -> list[float]:
    """All scores of a result."""
    sets = [found.score for hop in result.hops for found in hop.document_sets]
    evidence = [sentence.score for hop in result.hops for sentence in hop.evidence]
    return [*(document.score for document in result.documents), *sets, *evidence]


def test_without_memory_smaller_batches_give_the_same(system: Admiral) -> None:
    class Scarce:
        """A reranker that has memory for one claim."""

        def score(
            self,
            claims: Sequence[str],
            documents: Sequence[Sequence[Document]],
            evidence: Sequence[Sequence[Sentence]],
        ) -> list[list[Sentence]]:
            if len(claims) > 1:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            return old.score(claims, documents, evidence)

    old = system.stages.reranker
    expected = [essence(r) for r in system.retrieve_many(CLAIMS[:2], hops=2)]
    with swapped(system, reranker=Scarce()):
        found = list(system.retrieve_many(CLAIMS[:2], hops=2))
    assert [essence(r) for r in found] == expected


def test_a_fixed_number_of_hops_is_run_whatever_the_judge_says(system: Admiral) -> None:
    with swapped(system, judge=AlwaysSufficient()):
        result = system.retrieve(CLAIMS[0], hops=2)
    assert [h.number for h in result.hops] == [1, 2]
    assert result.stopped == "max_hops"
    assert all({s.title for s in hop.evidence} <= set(hop.read) for hop in result.hops)
    assert len(result.hops[0].read) > len({s.title for s in result.hops[0].evidence})
    assert all(len(s.titles) == 1 for s in result.hops[0].document_sets)
    assert all(len(s.titles) == 2 for s in result.hops[1].document_sets)


def test_the_judge_decides_when_hops_are_dynamic(system: Admiral) -> None:
    with swapped(system, judge=AlwaysSufficient()):
        result = system.retrieve(CLAIMS[0], hops="dynamic")
        hasty = replace(system.config, min_hops=1)
        at_once = Admiral(system.kb, system.checkpoint, hasty, system.stages)
        first = at_once.retrieve(CLAIMS[0], hops="dynamic")
    assert (len(result.hops), result.stopped) == (system.config.min_hops, "sufficient")
    assert (len(first.hops), first.stopped) == (1, "sufficient")
    with swapped(system, judge=NeverSufficient()):
        result = system.retrieve(CLAIMS[0], hops="dynamic")
    assert (len(result.hops), result.stopped) == (system.config.max_hops, "max_hops")


def test_documents_are_ranked_by_sets_and_exist(system: Admiral) -> None:
    result = system.retrieve(CLAIMS[0], hops=2)
    titles = [d.title for d in result.documents]
    assert len(titles) == len(set(titles)) == system.config.top_k
    assert all(system.kb.row(title) is not None for title in titles)
    best = result.hops[-1].document_sets[0].titles
    assert set(best) <= set(titles)
    settings = replace(system.config, ranking="last-hop")
    last = Admiral(system.kb, system.checkpoint, settings, system.stages)
    found = last.retrieve(CLAIMS[0], hops=2)
    best = found.hops[-1].document_sets[0].titles
    assert tuple(d.title for d in found.documents[: len(best)]) == best
    scores = [s.score for s in result.hops[-1].document_sets]
    assert scores == sorted(scores, reverse=True)
    for sentence in result.evidence:
        assert system.kb.document(sentence.title).sentences[sentence.index] == sentence.text


def test_proofs_quote_the_evidence(system: Admiral) -> None:
    for claim in CLAIMS:
        for hop in system.retrieve(claim, hops=2).hops:
            assert hop.proof is not None
            hop.proof.validate(claim.text, [(s.title, s.text) for s in hop.evidence])
            assert hop.sufficient == hop.proof.sufficient


class NoTitles:
    """A retriever that never finds a way on."""

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        return [[] for _ in claims]


class OneTitle:
    """A first stage that knows a single document."""

    def candidates(self, claims: Sequence[str], k: int) -> list[list[ScoredTitle]]:
        return [[ScoredTitle("Seth Meyers", 1.0)] for _ in claims]


def test_a_dead_end_keeps_what_was_found(system: Admiral) -> None:
    with swapped(system, retriever=NoTitles(), judge=NeverSufficient()):
        result = system.retrieve(CLAIMS[0], hops="dynamic")
    assert result.stopped == "dead_end"
    assert len(result.hops) == 1
    assert result.documents and result.evidence


def test_a_stage_can_be_replaced(system: Admiral) -> None:
    with swapped(system, first=OneTitle()):
        result = system.retrieve(CLAIMS[1], hops=1)
    titles = [d.title for d in result.documents]
    assert "Seth Meyers" in titles
    # The others are what the document that was read mentions.
    mentioned = " ".join(system.kb.document("Seth Meyers").sentences)
    assert all(title.split(" (")[0] in mentioned for title in titles)
    assert {s.title for s in result.evidence} == {"Seth Meyers"}


def test_scores_of_other_stages_may_be_of_numpy_or_leave_out(quick: Admiral) -> None:
    class Odd:
        """A reranker that has scores of NumPy's, and none for what `left_out` names."""

        def __init__(self, left_out: str, score: float) -> None:
            self._left_out, self._score = left_out, score

        def score(
            self,
            claims: Sequence[str],
            documents: Sequence[Sequence[Document]],
            evidence: Sequence[Sequence[Sentence]],
        ) -> list[list[Sentence]]:
            return [
                [replace(s, score=self._odd(s)) for s in one]
                for one in old.score(claims, documents, evidence)
            ]

        def _odd(self, sentence: Sentence) -> np.float32:
            return np.float32(self._score if sentence.title == self._left_out else sentence.score)

    old = quick.stages.reranker
    best = quick.retrieve(CLAIMS[0], hops=2).evidence[0].title
    with swapped(quick, reranker=Odd(best, -math.inf)):
        result = quick.retrieve(CLAIMS[0], hops=2)
        json.dumps(result.to_json(), allow_nan=False)
        assert result.evidence
        assert all(best not in {s.title for s in hop.evidence} for hop in result.hops)
    with (
        swapped(quick, reranker=Odd(best, math.nan)),
        pytest.raises(AdmiralError, match=rf"stage 'reranker': .* of '{best}' is nan"),
    ):
        quick.retrieve(CLAIMS[0], hops=2)


def test_a_claim_that_is_too_long_is_cut_and_it_is_said(system: Admiral) -> None:
    long = "The Danube flows through Vienna. " * 120 + "Zanzibar."
    result = system.retrieve(long, hops=1)
    (warning,) = result.warnings
    assert "cut from: '" in warning
    shown = warning.split("cut from: '")[1].rstrip("…'")
    assert shown in long
    assert system.retrieve(CLAIMS[1], hops=1).warnings == ()


@pytest.mark.parametrize(
    ("reranker", "tokens", "said"),
    [
        ("combined", 99, None),
        ("combined", 100, "100 tokens the cross-encoder reads 99; cut from: 'pi'"),
        ("cross-encoder", 130, "130 tokens the cross-encoder reads 99; cut"),
        ("combined", 130, "the cross-encoder reads 99, the sentence encoder reads 126; cut"),
        ("similarity", 126, None),
        ("similarity", 127, "127 tokens the sentence encoder reads 126; cut from: 'pi'"),
        ("bm25", 253, None),
        ("bm25", 254, "254 tokens the hop retriever reads 253; cut from: 'pi'"),
    ],
)
def test_a_claim_is_cut_by_what_the_settings_read_of_it(
    quick: Admiral, reranker: str, tokens: int, said: str | None
) -> None:
    settings = replace(quick.config, reranker=reranker)
    system = Admiral(quick.kb, quick.checkpoint, settings, quick.stages)
    warnings = system.retrieve("a " * (tokens - 1) + "pi", hops=1).warnings
    assert len(warnings) == (said is not None)
    assert said is None or said in warnings[0]


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_claim_is_an_error(system: Admiral, text: str) -> None:
    with pytest.raises(AdmiralError, match="claim '7'"):
        list(system.retrieve_many([Claim("7", text)]))


def test_the_claims_before_an_empty_one_are_answered(quick: Admiral) -> None:
    found = []
    with pytest.raises(AdmiralError, match="claim '7'"):
        for one in quick.retrieve_many([*CLAIMS, Claim("7", ""), CLAIMS[0]], hops=1):
            found.append(one)
    assert [one.claim for one in found] == CLAIMS


def test_claims_may_be_texts_with_their_places_for_ids(quick: Admiral) -> None:
    claims = [CLAIMS[1].text, CLAIMS[0], CLAIMS[1].text]
    found = list(quick.retrieve_many(claims, hops=1))
    assert [one.claim for one in found] == [
        Claim("1", CLAIMS[1].text),
        CLAIMS[0],
        Claim("3", CLAIMS[1].text),
    ]
    with pytest.raises(AdmiralError, match="claims: is a single text; give a list"):
        next(quick.retrieve_many(CLAIMS[1].text))
    bad: list[Any] = [CLAIMS[1].text, {"claim": "A river."}]
    results = quick.retrieve_many(bad, hops=1)
    assert next(results).claim.id == "1"
    with pytest.raises(AdmiralError, match="claim 2: is of type dict; give a text or a Claim"):
        next(results)


def test_claims_that_are_there_do_not_wait_for_those_to_come(quick: Admiral) -> None:
    there: Queue[Claim | None] = Queue()
    there.put(CLAIMS[0])
    found = quick.retrieve_many(Arriving(iter(there.get, None)), hops=1)
    assert next(found).claim == CLAIMS[0]
    there.put(CLAIMS[1])
    assert next(found).claim == CLAIMS[1]
    there.put(None)
    assert list(found) == []


class Watched:
    """A judge that runs what it is given before it judges."""

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call

    def judge(
        self, claims: Sequence[str], evidence: Sequence[Sequence[tuple[str, str]]]
    ) -> list[Judgement]:
        self._call()
        return AlwaysSufficient().judge(claims, evidence)


def test_every_call_takes_the_threads_of_the_settings(quick: Admiral, two_threads: None) -> None:
    seen: list[int] = []
    stages = replace(quick.stages, judge=Watched(lambda: seen.append(torch.get_num_threads())))
    settings = replace(quick.config, threads=3, hops="1", batch_size=1)
    system = Admiral(quick.kb, quick.checkpoint, settings, stages)
    calls: list[Callable[[], object]] = [
        lambda: system.retrieve(CLAIMS[0]),
        lambda: list(system.retrieve_many(CLAIMS)),
        lambda: system.prove(CLAIMS[0].text, []),
        lambda: asyncio.run(system.aretrieve(CLAIMS[0])),
    ]
    with ThreadPoolExecutor(1) as other:  # of which torch knows nothing yet
        for call in calls:
            call()
            other.submit(call).result()
        assert other.submit(torch.get_num_threads).result() == 2
    assert torch.get_num_threads() == 2
    assert seen == [3] * 12
    default = Admiral(quick.kb, quick.checkpoint, replace(settings, threads=0), stages)
    with ThreadPoolExecutor(1) as other:
        other.submit(torch.set_num_threads, 1).result()
        other.submit(default.retrieve, CLAIMS[0]).result()
    torch.set_num_threads(2)
    assert seen[12:] == [2]


def test_lone_surrogates_and_nul_are_replaced(system: Admiral) -> None:
    result = system.retrieve("The Emmy\ud800 Awards\x00 had a host.", hops=1)
    assert result.claim.text == "The Emmy\ufffd Awards\ufffd had a host."
    assert result.documents
    clean = system.prove("Emmy\ufffd", [("A\ufffd", "An Emmy\ufffd.")])
    assert system.prove("Emmy\ud800", [("A\ud800", "An Emmy\udfff.")]) == clean


def test_hops_are_checked(system: Admiral) -> None:
    with pytest.raises(AdmiralError, match="hops"):
        system.retrieve(CLAIMS[0], hops="many")


def test_an_unknown_model_or_kb_is_named(tmp_path: Path, model: Path) -> None:
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


def test_the_similarity_reranker_needs_no_training(model: Path) -> None:
    config = RetrievalConfig(reranker="similarity", judge="lexical", title_beams=0)
    with Admiral.from_pretrained(model, config=config) as other:
        result = other.retrieve(CLAIMS[0], hops=1)
    assert "Emmy" in result.evidence[0].title
    assert all(-1.001 <= s.score <= 1.001 for s in result.evidence)


@pytest.mark.skipif(not int8_works(), reason="the processor has no int8")
def test_in_int8_a_batch_gives_the_same_and_nearly_what_float32_gives(
    system: Admiral, model: Path, two_threads: None
) -> None:
    settings = replace(system.config, precision="int8", batch_size=3, max_hops=2)
    with Admiral.from_pretrained(model, config=settings) as other:
        together = list(other.retrieve_many(CLAIMS))
        alone = [other.retrieve(claim) for claim in CLAIMS]
    for one, its in zip(together, alone, strict=True):
        assert [s.key for s in one.evidence] == [s.key for s in its.evidence]
        assert [s.score for s in one.evidence] == pytest.approx([s.score for s in its.evidence])
        assert [d.title for d in one.documents] == [d.title for d in its.documents]
    exact = system.retrieve(CLAIMS[0], hops=2)
    assert together[0].documents[0].title in [d.title for d in exact.documents[:3]]
    assert together[0].evidence[0].key == exact.evidence[0].key
    assert together[0].evidence[0].score == pytest.approx(exact.evidence[0].score, abs=0.5)


def test_what_comes_after_closing_is_one_clear_error(model: Path, quick: Admiral) -> None:
    """What was begun before is finished: `close` waits for it."""
    begun, go_on, closed = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go_on.wait(timeout=10)

    system = Admiral.from_pretrained(model, config=replace(quick.config, batch_size=2))
    suspended = system.retrieve_many(CLAIMS, hops=1)
    assert next(suspended).claim == CLAIMS[0]
    with swapped(system, judge=Watched(wait)), ThreadPoolExecutor(2) as others:
        retrieving = others.submit(system.retrieve, CLAIMS[0], 2)
        assert begun.wait(timeout=10)
        closing = others.submit(lambda: (system.close(), closed.set()))
        assert not closed.wait(0.05)
        go_on.set()
        assert len(retrieving.result().hops) == 2
        closing.result()
    calls: list[Callable[[], object]] = [
        lambda: system.retrieve(CLAIMS[0]),
        lambda: list(system.retrieve_many(CLAIMS)),
        lambda: list(system.retrieve_many([])),
        lambda: next(suspended),
        lambda: system.prove(CLAIMS[0].text, [("A", "An Emmy.")]),
        lambda: asyncio.run(system.aretrieve(CLAIMS[0])),
    ]
    for call in calls:
        with pytest.raises(AdmiralError, match=r"^the system was closed\. Open another one\.$"):
            call()
    system.close()


@pytest.mark.parametrize("given", ["s", ("s",), ("a", "b", "c"), (1, "s"), None])
def test_evidence_is_pairs_of_texts(quick: Admiral, given: Any) -> None:
    with pytest.raises(AdmiralError, match=r"evidence 2: is no \(title, sentence\)"):
        quick.prove("a", [("", "s"), given])
    with pytest.raises(AdmiralError, match="claim: is of type NoneType; give a text"):
        quick.prove(None, [])  # type: ignore[arg-type]


@pytest.mark.parametrize("judge", ["generated", "classifier"])
def test_no_more_evidence_than_the_model_can_name(quick: Admiral, judge: str) -> None:
    system = Admiral(quick.kb, quick.checkpoint, replace(quick.config, judge=judge))
    evidence = [("A", f"It is {number}.") for number in range(343)]
    assert isinstance(system.prove("It is 7.", evidence[:342]), Judgement)
    with pytest.raises(AdmiralError, match=r"^evidence: 343 sentences .* so give 342 or less$"):
        system.prove("It is 7.", evidence)


def test_settings_are_no_dictionary() -> None:
    with pytest.raises(AdmiralError, match=r"config: is of type dict; give RetrievalConfig\("):
        Admiral.from_pretrained(config={"hops": 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, 5])
def test_what_is_no_claim_is_told_awaited_or_not(quick: Admiral, given: Any) -> None:
    with pytest.raises(AdmiralError, match="claim 1: is of type"):
        quick.retrieve(given)
    with pytest.raises(AdmiralError, match="claim 1: is of type"):
        asyncio.run(quick.aretrieve(given))
