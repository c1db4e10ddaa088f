"""Workers without Ray: their results as JSON, and the errors when they cannot start."""

import json
from dataclasses import replace

import pytest
import torch

from admiral import RetrievalConfig
from admiral.cluster.distributed_retrieval import (
    Worker,
    decode_results,
    encode_claims,
    worker_config,
)
from admiral.errors import AdmiralError
from admiral.models.checkpoint import choose_precision
from admiral.records import Claim
from admiral.retrieval.provenance import recorded_settings
from tests.admiral.cluster.poisoned import Poisoned, open_nothing
from tests.admiral.results import assert_close, without_timings

CLAIMS = [Claim("é", "Seth Meyers is an Iraqi comedian."), Claim("2", "Rome has \u2028 hills.")]


def test_results_are_the_records_of_the_pipeline(system):
    worker = Worker(system.config, lambda config: system)
    assert worker.open(json.dumps(recorded_settings(system.config))) == ""
    records, error = decode_results(worker.retrieve(encode_claims(CLAIMS)))
    assert error == ""
    expected = [result.to_json() for result in system.retrieve_many(CLAIMS)]
    assert_close(list(map(without_timings, records)), list(map(without_timings, expected)))


def test_an_error_of_the_pipeline_is_returned(system):
    worker = Worker(system.config, lambda config: Poisoned(system))
    assert worker.open(json.dumps(recorded_settings(system.config))) == ""
    poison = [CLAIMS[0], Claim("3", "A poisonous claim.")]
    assert decode_results(worker.retrieve(encode_claims(poison))) == ([], "ValueError: poison")
    empty = [Claim("4", " ")]
    assert "'4': is empty" in decode_results(worker.retrieve(encode_claims(empty)))[1]


def test_settings_that_differ_on_a_node_are_named():
    config = worker_config(RetrievalConfig(), 1, 0)
    other = recorded_settings(replace(config, beam_size=3)) | {"version": "0.0.1"}
    message = Worker(config, open_nothing).open(json.dumps(other))
    assert message.startswith("node ")
    assert "beam_size is 25 and not 3" in message
    other = recorded_settings(config) | {"kb": "my-kb (0123456789ab)"}
    message = Worker(config, open_nothing).open(json.dumps(other))
    assert "kb is 'demo' and not 'my-kb (0123456789ab)'" in message
    message = Worker(config, open_nothing).open(json.dumps(recorded_settings(config)))
    assert message.endswith(": kb: is not there. Bring it")


def test_worker_settings_are_absolute_and_resolved(tmp_path, monkeypatch):
    (tmp_path / "kb").mkdir()
    monkeypatch.chdir(tmp_path)
    config = RetrievalConfig(kb="kb", model="mini")
    cpu_only = worker_config(config, 4, 0)
    assert (cpu_only.device, cpu_only.threads) == ("cpu", 4)
    assert (cpu_only.kb, cpu_only.model) == (str(tmp_path / "kb"), "mini")
    assert worker_config(config, 4, 0.5).device == "auto"
    assert cpu_only.precision == choose_precision(replace(config, device="cpu")) != "auto"
    on_gpu = replace(config, device="cuda:3", threads=2)
    assert worker_config(on_gpu, 4, 1) == replace(
        on_gpu, device="cuda", kb=cpu_only.kb, precision="bf16"
    )
    named = worker_config(replace(on_gpu, precision="fp32"), 4, 1)
    assert (named.precision, worker_config(named, 4, 1)) == ("fp32", named)
    assert worker_config(config, 4, 0.5).precision == "bf16"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)  # a GPU that no worker uses
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert worker_config(config, 4, 0).precision == "fp32"
    with pytest.raises(AdmiralError, match="add --gpus-per-worker"):
        worker_config(replace(config, device="cuda"), 4, 0)
