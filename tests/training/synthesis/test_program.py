"""The program that writes synthetic claims."""

import json
from functools import partial

import pytest

from admiral.gold import Label, read_gold
from admiral.kb import KnowledgeBase, build, demo_kb
from tests.training.synthesis.in_memory_documents import DOCUMENTS
from tests.training.tiny import run_program
from training.synthesize import main

run = partial(run_program, main)


def knowledge_base(folder, documents):
    lines = [{"title": title, "sentences": sentences} for title, sentences in documents]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    build(folder / "corpus.jsonl", folder / "kb", bm25="none", progress=False)
    return folder / "kb"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthesize")
    return knowledge_base(folder, [(d.title, d.sentences) for d in DOCUMENTS])


def test_claims_are_read_as_gold(user_cache, tmp_path):
    output = tmp_path / "claims.jsonl"
    arguments = ("--kb", "demo", "--count", 120, "--output")
    done = run(*arguments, output)
    assert done.exit_code == 0, done.output
    assert "120 of 120 claims" in done.output
    claims = list(read_gold(output))
    assert len(claims) == 120
    assert {c.label for c in claims} == {Label.SUPPORTS, Label.REFUTES}
    assert {c.hops for c in claims} == {2, 3, 4}
    assert any(c.ordered for c in claims)
    with KnowledgeBase.open(demo_kb()) as kb:
        for claim in claims:
            assert len(claim.titles) == claim.hops
            assert all(kb.document(title).sentences[i] for title, i in claim.sentences)
    assert run(*arguments, tmp_path / "again.jsonl", "--quiet").output == ""
    assert (tmp_path / "again.jsonl").read_bytes() == output.read_bytes()


def test_an_interrupted_run_is_resumed(small, tmp_path):
    whole, output = tmp_path / "whole.jsonl", tmp_path / "claims.jsonl"
    arguments = ("--kb", small, "--output")
    assert run(*arguments, whole, "--count", 60).exit_code == 0
    assert run(*arguments, output, "--count", 25).exit_code == 0
    assert run(*arguments, output, "--count", 60).exit_code == 0
    assert output.read_bytes() == whole.read_bytes()
    for change, says in (
        (("--count", 25), "holds 60 claims, more than 25"),
        (("--count", 60, "--seed", 1), "seed was 0, now 1"),
    ):
        done = run(*arguments, output, *change)
        assert done.exit_code == 1
        assert says in done.output
    assert output.read_bytes() == whole.read_bytes()
    done = run(*arguments, output, "--count", 30, "--overwrite", "--hops", 3)
    assert done.exit_code == 0, done.output
    assert {claim.hops for claim in read_gold(output)} == {3}


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (["--hops", "2-5"], 2, "not a number from 2 to 4"),
        (["--hops", "4-2"], 2, "not a number from 2 to 4"),
        (["--kb", "nowhere"], 1, "nowhere"),
        (["--output", "no/where/out.jsonl"], 1, "its folder does not exist"),
        (["--output", "{kb}/kb.sqlite"], 1, "which is read. Choose another output"),
    ],
)
def test_wrong_arguments(small, tmp_path, arguments, status, problem):
    before = (small / "kb.sqlite").read_bytes()
    usual = ["--kb", small, "--count", 5, "--output", tmp_path / "out.jsonl"]
    done = run(*usual, *(argument.format(kb=small) for argument in arguments))
    assert done.exit_code == status
    assert problem in done.output
    assert list(tmp_path.iterdir()) == []
    assert (small / "kb.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("Ada Brook is a Welsh painter.", 0),
        ("Ada Brook is a painter who was taught by Nobody.", 1),
    ],
)
def test_nothing_to_write(tmp_path, sentence, count):
    kb = knowledge_base(tmp_path, [("Ada Brook", [sentence]), ("Nobody", ["Who was that?"])])
    done = run("--kb", kb, "--count", 5, "--output", tmp_path / "out.jsonl")
    assert done.exit_code == 1
    assert f"{count} of 2 documents name another one" in done.output
    assert not list(tmp_path.glob("out.jsonl*"))
