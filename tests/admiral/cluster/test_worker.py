"""What a worker says, without Ray: its answers as JSON, and why it cannot begin."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from admiral import Admiral, RetrievalConfig
from admiral.cluster.worker import Worker, decode_answer, encode_claims, worker_config
from admiral.records import Claim, RetrievalResult
from admiral.retrieval.provenance import recorded_settings
from tests.admiral.cluster.poisoned import Poisoned, open_nothing
from tests.admiral.results import without_timings

CLAIMS = [Claim("é", "Seth Meyers is an Iraqi comedian."), Claim("2", "Rome has \u2028 hills.")]


def test_answers_are_the_records_of_the_pipeline(system: Admiral) -> None:
    worker = Worker(system.config, lambda config: system)
    assert worker.open(json.dumps(recorded_settings(system.config))) == ""
    records, error = decode_answer(worker.answer(encode_claims(CLAIMS)))
    assert error == ""
    want = [result.to_json() for result in system.retrieve_many(CLAIMS)]
    assert list(map(without_timings, records)) == list(map(without_timings, want))


def test_an_error_of_the_pipeline_is_an_answer(system: Admiral) -> None:
    worker = Worker(system.config, lambda config: Poisoned(system))
    assert worker.open(json.dumps(recorded_settings(system.config))) == ""
    poison = [CLAIMS[0], Claim("3", "A poisonous claim.")]
    assert decode_answer(worker.answer(encode_claims(poison))) == ([], "ValueError: poison")
    empty = [Claim("4", " ")]
    assert "'4': is empty" in decode_answer(worker.answer(encode_claims(empty)))[1]


def test_what_differs_on_a_node_is_named() -> None:
    config = worker_config(RetrievalConfig(), 1, 0)
    other = recorded_settings(replace(config, beam_size=3)) | {"version": "0.0.1"}
    said = Worker(config, open_nothing).open(json.dumps(other))
    assert said.startswith("node ")
    assert "beam_size is 25 and not 3" in said
    other = recorded_settings(config) | {"kb": "my-kb (0123456789ab)"}
    said = Worker(config, open_nothing).open(json.dumps(other))
    assert "kb is 'demo' and not 'my-kb (0123456789ab)'" in said
    said = Worker(config, open_nothing).open(json.dumps(recorded_settings(config)))
    assert said.endswith(": kb: is not there. Bring it")


class Uncounted:
    def retrieve_many(self, claims: Iterable[Claim]) -> Iterator[RetrievalResult]:
        raise MemoryError


def test_an_error_without_a_message_has_a_name() -> None:
    config = worker_config(RetrievalConfig(), 1, 0)
    worker = Worker(config, lambda config: Uncounted())
    worker.open(json.dumps(recorded_settings(config)))
    assert decode_answer(worker.answer(encode_claims(CLAIMS)))[1] == "MemoryError"
