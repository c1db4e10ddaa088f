"""``admiral join``, and other commands on a joined knowledge base."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from importlib.resources import files
from itertools import pairwise

import pytest

from admiral.kb import add, build

Admiral = Callable[..., subprocess.CompletedProcess[bytes]]
QUICK = ("--hops", "1", "--set", "reranker=bm25", "--set", "beam_size=4", "--set", "title_beams=2")


def corpus(path, *titles):
    path.write_text("".join(json.dumps({"title": t, "text": "It is."}) + "\n" for t in titles))
    return path


@pytest.fixture
def shards(tmp_path):
    for name, titles in {"a": ["Bird", "Seed"], "b": ["Nest", "Egg"]}.items():
        build(corpus(tmp_path / "c.jsonl", *titles), tmp_path / name, bm25="none", progress=False)
    return [tmp_path / "a", tmp_path / "b"]


def test_from_joining_to_verifying(admiral, shards, tmp_path):
    kb = tmp_path / "all"
    done = admiral("join", *shards, "--kb", kb)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(f"{kb}: 4 documents of 2 knowledge bases, in ".encode())
    assert admiral("titles", "--kb", kb).stdout == b"Bird\nEgg\nNest\nSeed\n"
    shown = [line.split() for line in admiral("info", "--kb", kb).stdout.decode().splitlines()]
    assert ["documents", "4"] in shown
    assert [line[1:] for line in shown if line[0] == "member"] == [
        [str(shard), "(2)"] for shard in shards
    ]
    done = admiral("verify", "--kb", kb)
    assert (done.returncode, done.stdout) == (0, f"{kb}: sound\n".encode())
    more = corpus(tmp_path / "c.jsonl", "Bird", "Bat")
    assert admiral("add", more, "--kb", shards[1], "--no-progress").returncode == 0
    done = admiral("titles", "--kb", kb)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {kb}: the title 'Bird' is in several members: ".encode())
    done = admiral("join", *shards, "--kb", kb, "--on-duplicate", "skip", "--overwrite", "--json")
    record = json.loads(done.stdout)
    del record["seconds"]
    assert record == {"path": str(kb), "members": 2, "documents": 5, "hidden": 1}
    shards[1].rename(tmp_path / "gone")
    done = admiral("verify", "--kb", kb)
    assert (done.returncode, done.stdout.decode().split(" (")[0]) == (
        1,
        f"{shards[1]}: no such knowledge base",
    )
    assert done.stderr.startswith(f"error: {kb}: 1 problem. Repair it, or join".encode())
    (tmp_path / "gone").rename(shards[1])
    facts = json.loads(admiral("info", "--kb", kb, "--json").stdout)
    assert (facts["hidden"], facts["counts"]["documents"], len(facts["members"])) == (1, 5, 2)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["join", "--kb", "new"], 2, "Missing argument 'SHARD...'"),
        (["join", "a"], 2, "Missing option '--kb'"),
        (["join", "a", "none", "--kb", "new"], 1, "error: none: no such knowledge base"),
        (["join", "a", "a/../a", "--kb", "new"], 1, "is named twice (as a)"),
        (["join", "a", "--kb", "b"], 1, "b: exists already. Give --overwrite"),
        (["join", "a", "b", "--kb", "new", "--on-duplicate", "no"], 1, "Choose one of error, skip"),
    ],
)
def test_bad_requests(admiral, shards, tmp_path, arguments, status, message):
    done = admiral(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, b"")
    assert message in done.stderr.decode()
    assert not (tmp_path / "new").exists()


def test_the_same_records_as_without_shards(admiral, tmp_path):
    lines = (files("admiral") / "data" / "demo" / "documents.jsonl").read_bytes().splitlines(True)
    cuts = [0, 100, 350, len(lines)]
    shards = [tmp_path / f"shard{number}" for number in range(3)]
    for shard, (first, end) in zip(shards, pairwise(cuts), strict=True):
        # The last documents of each are added later, so that rows of the trie are renumbered.
        (tmp_path / "part.jsonl").write_bytes(b"".join(lines[first : end - 9]))
        build(tmp_path / "part.jsonl", shard, bm25="bm25s", progress=False)
        (tmp_path / "part.jsonl").write_bytes(b"".join(lines[end - 9 : end]))
        add(tmp_path / "part.jsonl", shard, progress=False)
    (tmp_path / "part.jsonl").write_bytes(b"".join(lines))
    build(tmp_path / "part.jsonl", tmp_path / "whole", bm25="bm25s", progress=False)
    assert admiral("join", *shards, "--kb", tmp_path / "all").returncode == 0
    claims = "".join(
        json.dumps({"id": str(number), "claim": claim}) + "\n"
        for number, claim in enumerate(
            ["Seth Meyers hosted the 66th Primetime Emmy Awards.", "A comedian was born in 1973."]
        )
    )
    (tmp_path / "claims.jsonl").write_text(claims)
    records = []
    for kb in ("whole", "all"):
        done = admiral(
            "retrieve", "--kb", tmp_path / kb, "--input", tmp_path / "claims.jsonl", *QUICK
        )
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        for record in found:
            for hop in record["hops"]:
                del hop["seconds"]
            record.pop("seconds", None)
        records.append(found)
    assert records[0] == records[1]
    assert records[0][0]["documents"]
    # Results are not written into a member.
    done = admiral(
        "retrieve", "A claim.", "--kb", tmp_path / "all", "--output", shards[1] / "results.jsonl"
    )
    assert done.returncode == 1
    assert f"lies in {shards[1]}, which is read" in done.stderr.decode()
