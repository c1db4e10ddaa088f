"""Settings of retrieval: files, overrides, validation."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from admiral.config import RetrievalConfig, load_config
from admiral.errors import AdmiralError


def test_defaults_are_valid():
    assert load_config() == RetrievalConfig()


def test_fast_settings_may_be_changed():
    config = RetrievalConfig.fast(rerank_documents=20, hops="2")
    assert not config.generator
    assert config.verifier == "mini-verifier" != RetrievalConfig().verifier
    assert (config.title_beams, config.rerank_documents, config.hops) == (0, 20, "2")


@pytest.mark.parametrize("value", ["1e5", "yes", "007", "null", "a=b", "[x]", "kb: x"])
def test_the_text_of_an_override_is_not_parsed_as_yaml(value):
    assert load_config(None, [f"kb={value}"]).kb == value


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("max_hop: 3", "max_hop"),
        ("max_hops: true", "max_hops"),
        ("max_hops: many", "max_hops"),
        ("max_hops: 0", "max_hops"),
        ("max_hops: 1.0e400", "max_hops"),
        ("hops: -1", "hops"),
        ("hops: 1.5", "hops"),
        ("hops: sometimes", "hops"),
        ("hops: null", "hops"),
        ("kb: [a]", "kb"),
        ("model: {a: 1}", "model"),
        ("model: ''", "model"),
        ("judge: never mind", "judge"),
        ("bm25: tantivy", "bm25"),
        ("reranker: none", "reranker"),
        ("device: gpu", "device"),
        ("threads: -1", "threads"),
        ("threads: 1025", "threads"),
        ("threads: 99999999999", "threads"),
        ("beam_size: 1000001", "beam_size"),
        ("max_hops: 1000", "max_hops"),
        ("hops: 1000", "hops"),
        ("title_weight: .nan", "title_weight"),
        ("text_weight: -1", "text_weight"),
        ("text_weight: 1.0e39", "text_weight"),
        ("title_weight: .inf", "title_weight"),
        ("text_weight: 0\ntitle_weight: 0", "text_weight"),
        ("trie_normalised: maybe", "trie_normalised"),
        ("3: 4", "3"),
    ],
)
def test_bad_files_name_file_and_key(tmp_path, text, key):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(AdmiralError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: key {key!r}: ")
    assert "\n" not in str(caught.value)


def test_a_close_key_is_suggested():
    with pytest.raises(AdmiralError, match="Did you mean 'beam_size'"):
        load_config(None, ["beamsize=4"])


@pytest.mark.parametrize("override", ["max_hops", "=3", "", " = "])
def test_overrides_without_key_or_value(override):
    with pytest.raises(AdmiralError, match="expected key=value"):
        load_config(None, [override])


@pytest.mark.parametrize("content", [b"- a\n", b"a: : b\n c", b"\xff\xfe\x00", b"word"])
def test_files_that_are_not_settings(tmp_path, content):
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(AdmiralError) as caught:
        load_config(path)
    assert str(path) in str(caught.value)


def test_missing_file(tmp_path):
    for path in (tmp_path / "absent.yaml", tmp_path):
        with pytest.raises(AdmiralError, match="cannot be read"):
            load_config(path)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("top_k", 0, "0 should be greater than or equal to 1"),
        ("threads", 1025, "1025 should be less than or equal to 1024"),
        ("text_weight", 1e39, r"1e\+39 should be less than or equal to 1000000"),
        ("hops", 1000, "'1000' should match pattern"),
        ("hops", True, "'True' should match pattern"),
        ("kb", Path("kb"), r"PosixPath\('kb'\) should be a valid string"),
        ("top_k", "5", "'5' should be a valid integer"),
        ("top_k", True, "True should be a valid integer"),
        ("mentions", 1, "1 should be a valid boolean"),
        ("text_weight", None, "None should be a valid number"),
    ],
)
def test_a_value_that_is_not_allowed(key, value, problem):
    with pytest.raises(AdmiralError, match=rf"^setting '{key}': {problem}"):
        RetrievalConfig().changed(**{key: value})
    with pytest.raises(ValidationError, match=key):
        RetrievalConfig(**{key: value})


def test_settings_do_not_depend_on_how_a_number_is_written():
    settings = RetrievalConfig(text_weight=2).settings()
    assert json.dumps(settings) == json.dumps(RetrievalConfig(text_weight=2.0).settings())
    assert RetrievalConfig(hops=1) == RetrievalConfig(hops="1")


def test_min_hops_above_max_hops():
    assert load_config(None, ["max_hops=1"]).min_hops == 2  # the default gives way
    load_config(None, ["hops=3", "min_hops=5", "max_hops=4"])  # neither is used
    with pytest.raises(AdmiralError, match="'min_hops': 5 is larger than max_hops, 4"):
        load_config(None, ["min_hops=5"])
    with pytest.raises(AdmiralError, match="'min_hops': 5 is larger than max_hops, 3"):
        RetrievalConfig().changed(min_hops=5, max_hops=3)


def test_stop_at_needs_a_verifier():
    load_config(None, ["stop_at=0.9"])
    for overrides in (["stop_at=0.9", "verifier="], ["stop_at=0.9", "judge=lexical"]):
        with pytest.raises(AdmiralError, match=r"'stop_at': works only with .*'verifier'"):
            load_config(None, overrides)
    with pytest.raises(AdmiralError, match=r"'stop_at': '1\.5' should be less than"):
        load_config(None, ["stop_at=1.5", "verifier=v"])


def test_settings_of_speed_are_left_out():
    config = RetrievalConfig()
    same = config.changed(batch_size=1, device="cpu", threads=2)
    assert config.settings() == same.settings()
    assert config.settings() != config.changed(beam_size=24).settings()


@given(
    st.builds(
        RetrievalConfig,
        hops=st.just("dynamic") | st.integers(0, 999).map(str),
        max_hops=st.integers(1, 999),
        title_weight=st.floats(0.5, 1e6),
        trie_normalised=st.booleans(),
        device=st.sampled_from(["auto", "cuda:11"]),
    )
)
def test_every_valid_config_equals_the_one_read_from_its_overrides(config):
    assert (
        load_config(None, [f"{key}={value}" for key, value in config.model_dump().items()])
        == config
    )
