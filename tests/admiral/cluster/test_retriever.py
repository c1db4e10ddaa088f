"""Workers and runs without Ray: Ray Data is replaced by a loop over blocks."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

from admiral import Admiral, RetrievalConfig
from admiral.cluster import Retriever, retrieve_on_cluster, worker_config
from admiral.config import ClusterOptions
from admiral.errors import AdmiralError
from admiral.models.checkpoint import choose_precision
from admiral.retrieval.provenance import recorded_settings
from tests.admiral.results import assert_close, without_timings


class FakeRay(ModuleType):
    """Nodes of two CPUs each, and the parts of Ray Data that a run uses."""

    def __init__(self):
        super().__init__("ray")
        self.calls, self.died = [], False
        node = {"Alive": True, "Resources": {"CPU": 2.0}}
        self.nodes = lambda: [node, node, {"Alive": False, "Resources": {"CPU": 64.0}}]
        self.exceptions = SimpleNamespace(RayError=ConnectionError)
        self.data = self
        self.context = SimpleNamespace(execution_options=SimpleNamespace(preserve_order=False))
        self.DataContext = SimpleNamespace(get_current=lambda: self.context)

    def init(self, **options):
        self.calls.append(("init", options["address"]))

    def shutdown(self):
        self.calls.append(("shutdown",))

    def ActorPoolStrategy(self, size):  # noqa: N802 - Ray's name
        self.calls.append(("workers", size))

    def from_items(self, rows, override_num_blocks):
        size = -(-len(rows) // override_num_blocks)
        self.blocks = [rows[start : start + size] for start in range(0, len(rows), size)]
        return self

    def map_batches(self, retriever, *, fn_constructor_args, **options):
        assert options["batch_size"] is None
        self.retriever = retriever(*fn_constructor_args)
        return self

    def iter_rows(self):
        assert self.context.execution_options.preserve_order
        for block in self.blocks:
            outcomes = self.retriever({"claim": [row["claim"] for row in block]})
            yield from ({"outcome": outcome} for outcome in outcomes["outcome"])
            if self.died:
                raise ConnectionError("actor died\n\nout of memory")


@pytest.fixture
def ray(monkeypatch):
    ray = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setitem(sys.modules, "ray.data", ray)
    return ray


def test_outcomes_are_the_records_of_the_pipeline_in_order(ray, user_cache, config, claims):
    outcomes = list(retrieve_on_cluster(config, iter(claims), ClusterOptions()))
    assert [outcome["id"] for outcome in outcomes] == [claim.id for claim in claims]
    (failed,) = (outcome for outcome in outcomes if "error" in outcome)
    error = "claim 'bad': is empty; give a sentence to verify"
    assert failed == {"id": "bad", "claim": " ", "error": error}
    good = [claim for claim in claims if claim.id != "bad"]
    with Admiral.from_pretrained(config=worker_config(config, ClusterOptions())) as system:
        expected = [without_timings(result.to_json()) for result in system.retrieve_many(good)]
    assert_close([without_timings(o) for o in outcomes if "error" not in o], expected)
    assert ray.calls == [("init", "local"), ("workers", 4), ("shutdown",)]
    assert [len(block) for block in ray.blocks] == [1] * 13


def test_a_cluster_without_room_is_an_error(ray, config, claims):
    for options in (ClusterOptions(cpus_per_worker=3), ClusterOptions(gpus_per_worker=0.5)):
        with pytest.raises(AdmiralError, match=r"no node of the cluster has .* 2 CPUs, 0 GPUs"):
            list(retrieve_on_cluster(config, claims, options))
    assert ray.calls[-1] == ("shutdown",)


def test_an_address_without_a_cluster_is_an_error(ray, config, claims):
    with pytest.raises(AdmiralError, match=r"--ray-address 127\.0\.0\.1:1: no cluster can be"):
        list(retrieve_on_cluster(config, claims, ClusterOptions(ray_address="127.0.0.1:1")))
    assert ray.calls == []


def test_a_node_with_other_settings_is_named(ray, config, claims):
    def problem(**other):
        own = worker_config(config.changed(kb="missing-kb"), ClusterOptions())
        retriever = Retriever(own, json.dumps(recorded_settings(own) | other))
        (outcome,) = retriever({"claim": [json.dumps(["1", "A claim."])]})["outcome"]
        return json.loads(outcome)["problem"]

    assert problem(beam_size=3).startswith("node ")
    assert "beam_size is 4 and not 3" in problem(beam_size=3, version="0.0.1")
    assert "missing-kb" in problem()
    with pytest.raises(AdmiralError, match=r"node \S+: .*missing-kb"):
        list(retrieve_on_cluster(config.changed(kb="missing-kb"), claims, ClusterOptions()))


def test_worker_settings_are_absolute_and_resolved(tmp_path, monkeypatch):
    def settings(config, cpus=4, gpus=0.0):
        options = ClusterOptions(cpus_per_worker=cpus, gpus_per_worker=gpus)
        return worker_config(config, options)

    (tmp_path / "kb").mkdir()
    monkeypatch.chdir(tmp_path)
    config = RetrievalConfig(kb="kb", model="mini")
    cpu_only = settings(config)
    assert (cpu_only.device, cpu_only.threads) == ("cpu", 4)
    assert (cpu_only.kb, cpu_only.model) == (str(tmp_path / "kb"), "mini")
    assert settings(config, gpus=0.5).device == "auto"
    assert cpu_only.precision == choose_precision(config.changed(device="cpu")) != "auto"
    on_gpu = config.changed(device="cuda:3", threads=2)
    assert settings(on_gpu, gpus=1) == on_gpu.changed(
        device="cuda", kb=cpu_only.kb, precision="bf16"
    )
    named = settings(on_gpu.changed(precision="fp32"), gpus=1)
    assert (named.precision, settings(named, gpus=1)) == ("fp32", named)
    assert settings(config, gpus=0.5).precision == "bf16"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)  # a GPU that no worker uses
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    assert settings(config).precision == "fp32"
    with pytest.raises(AdmiralError, match="add --gpus-per-worker"):
        settings(config.changed(device="cuda"))
