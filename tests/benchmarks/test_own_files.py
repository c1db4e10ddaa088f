"""Claims about files that anyone has: the corpora, the claims, their halves, and a whole run."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral.evaluation.tasks import read_task_claims
from admiral.gold import GoldClaim, Label
from admiral.kb import KnowledgeBase, build
from benchmarks.own_files import corpora, main
from benchmarks.own_files.gold_claims import HALVES, TASK, claims_file, in_half, is_answerable


@pytest.fixture(scope="module")
def claims() -> dict[str, list[GoldClaim]]:
    return {name: read_task_claims(TASK, claims_file(name)) for name in corpora.CORPORA}


def test_there_are_a_hundred_claims_in_equal_halves(claims: dict[str, list[GoldClaim]]) -> None:
    assert sum(map(len, claims.values())) == 100
    assert len({claim.id for of_corpus in claims.values() for claim in of_corpus}) == 100
    for name, of_corpus in claims.items():
        assert all(claim.id.startswith(f"{name}-") for claim in of_corpus)
        assert [len(in_half(of_corpus, half)) for half in HALVES] == [10, 10]
        labels = Counter(claim.label for claim in of_corpus)
        assert labels == {Label.SUPPORTS: 13, Label.REFUTES: 7}
        assert sum(claim.hops > 1 for claim in of_corpus) >= 10


@pytest.mark.parametrize("name", ["project", "vault"])
def test_gold_documents_and_sentences_exist(
    name: str, claims: dict[str, list[GoldClaim]], tmp_path: Path
) -> None:
    assert corpora.copy_corpus(name, tmp_path / name) >= 30
    build(tmp_path / name, tmp_path / "kb", bm25="none", progress=False)
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        titles = set(kb.titles())
        assert [claim.id for claim in claims[name] if not is_answerable(claim, titles)] == []
        for claim in claims[name]:
            for title, number in claim.sentences:
                assert number < len(kb.document(title).sentences)


def test_corpora_are_chosen_by_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "_MANUALS", tmp_path / "man")
    monkeypatch.setattr(corpora, "_DOCUMENTATION", tmp_path / "doc")
    monkeypatch.setattr(corpora, "_MOST_PAGES", 2)
    pages = ("man1/a.1", "man1/b-x.1", "man1/b-y.1", "man1/b_z.1", "man3/c.3", "de/man1/a.1")
    docs = ("p/README", "p/x.html", "p/x.md", "p/y.md", "p/changelog.gz", "p/copyright", "p/a.c")
    for path in (*(Path("man", page) for page in pages), *(Path("doc", doc) for doc in docs)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(gzip.compress(b"x"))
    (tmp_path / "man/man1/d.1").symlink_to(tmp_path / "man/man1/a.1")
    assert [str(file.target) for file in corpora.manuals()] == ["man1/a.1"]
    assert [str(file.target) for file in corpora.package_docs()] == [
        "p/README",
        "p/x.html",
        "p/y.md",
    ]
    assert corpora.copy_corpus("manuals", tmp_path / "copy") == 1
    assert (tmp_path / "copy/man1/a.1").exists()
    monkeypatch.setattr(corpora, "_MANUALS", tmp_path / "none")
    assert corpora.copy_corpus("manuals", tmp_path / "copy") == 0
    assert not (tmp_path / "copy").exists()


def test_a_run_prints_a_table_and_skips_missing_corpora(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "_MANUALS", tmp_path / "none")
    options = ["--data", str(tmp_path), "--corpus", "manuals", "--corpus", "vault"]
    options += ["--system", "bm25", "--limit", "4"]
    first, again = (CliRunner().invoke(main, options, catch_exceptions=False) for _ in range(2))
    assert "manuals: skipped, because this machine has no such files" in first.output
    assert "vault: 20 of 20 claims have all gold documents" in first.output
    rows = [line.split("|") for line in first.output.splitlines() if line.startswith("| vault")]
    assert [row[2].strip() for row in rows] == list(HALVES)
    assert sum(int(row[4]) for row in rows) == 4
    assert again.output.splitlines()[-4:] == first.output.splitlines()[-4:]
