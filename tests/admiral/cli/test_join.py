"""``admiral join``, and other commands on a joined knowledge base."""

import json

import pytest

from admiral.kb import build


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
