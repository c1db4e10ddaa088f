"""Natural language inference files: folders, labels, and sources that are left out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from admiral.errors import AdmiralError, RecordError
from training.data.inference_pairs import inference_files, read_inference_pairs
from training.data.verification_pairs import Pair


def write(path: Path, *records: dict[str, str]) -> Path:
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return path


def record(source: str, label: str) -> dict[str, str]:
    return {"premise": "A dog.", "hypothesis": "An animal.", "label": label, "source": source}


def test_pairs_and_their_relevance(tmp_path: Path) -> None:
    path = write(
        tmp_path / "all.jsonl.gz",
        *(record("snli", label) for label in ("entailment", "neutral", "not_entailment")),
        record("anli", "contradiction"),
    )
    assert list(read_inference_pairs(path)) == [
        Pair("An animal.", "A dog.", "entailment", "snli", 1.0, True),
        Pair("An animal.", "A dog.", "neutral", "snli", 1.0, None),
        Pair("An animal.", "A dog.", "not_entailment", "snli", 1.0, None),
    ]
    assert len(list(read_inference_pairs(path, non_commercial=True))) == 4


def test_a_folder_gives_the_files_of_a_split(tmp_path: Path) -> None:
    train = write(tmp_path / "b.train.jsonl.gz", record("b", "neutral"))
    dev = write(tmp_path / "b.dev.jsonl.gz", record("b", "neutral"))
    assert inference_files(tmp_path, "train") == [train]
    assert inference_files(dev, "train") == [dev]
    with pytest.raises(AdmiralError, match="another --split"):
        inference_files(tmp_path, "test")


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl.gz", {"premise": "A dog.", "label": "neutral"})
    with pytest.raises(RecordError, match=r"a\.jsonl\.gz:1.*hypothesis"):
        list(read_inference_pairs(path))
