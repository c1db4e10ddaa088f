"""The command that builds training samples, as a person runs it."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from admiral.gold import read_gold
from admiral.kb import KnowledgeBase, demo_kb
from training.build_data import main
from training.data.evidence_corpora import ExtendedCorpus, PassageCorpus, fault, read_documents
from training.data.negatives import BeamNegatives, Bm25Negatives
from training.data.samples import ProveSample, RetrieveSample, read_samples

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


@pytest.fixture(scope="module")
def kb_path(user_cache: None) -> str:
    return str(demo_kb("bm25s"))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments])


def few(path: Path, count: int = 6) -> Path:
    path.write_text("".join(DEMO.read_text("utf-8").splitlines(keepends=True)[:count]))
    return path


def missing_claims(tmp_path: Path) -> Path:
    path = few(tmp_path / "claims.jsonl")
    record = {"id": "gone", "claim": "Gone.", "label": "SUPPORTED", "evidence": [["Nowhere", 0]]}
    path.write_text(json.dumps(record) + "\n" + path.read_text())
    return path


def test_sources_become_one_file_the_same_for_the_same_seed(kb_path: str, tmp_path: Path) -> None:
    claims, out = few(tmp_path / "claims.jsonl"), tmp_path / "samples.jsonl"
    arguments = ("--kb", kb_path, "--source", f"gold:{claims}", "--source", f"pairs/prove:{claims}")
    done = run(*arguments, out)
    assert done.exit_code == 0, done.output
    assert "claims: 6 used" in done.output
    first = out.read_bytes()
    assert run(*arguments, out).exit_code == 0 and out.read_bytes() == first
    assert run(*arguments, "--seed", 1, out).exit_code == 0 and out.read_bytes() != first
    assert {type(sample).__name__ for sample in read_samples(out)} == {
        "RetrieveSample",
        "RerankSample",
        "ProveSample",
    }


def test_claims_that_share_a_document_with_excluded_ones_are_left_out(
    kb_path: str, tmp_path: Path
) -> None:
    claims, held, out = few(tmp_path / "claims.jsonl"), tmp_path / "held.jsonl", tmp_path / "out"
    held.write_text(claims.read_text("utf-8").splitlines(keepends=True)[1], "utf-8")
    kept_out = set(next(read_gold(held)).titles)
    done = run("--kb", kb_path, "--source", f"gold:{claims}", "--exclude", held, out)
    assert done.exit_code == 0, done.output
    left = [c for c in read_gold(claims) if kept_out.isdisjoint(c.titles)]
    assert f"claims: {len(left)} used, {6 - len(left)} excluded" in done.output or (
        f"claims: {6 - len(left)} excluded, {len(left)} used" in done.output
    )
    texts = {sample.claim for sample in read_samples(out)}
    assert texts and texts <= {c.claim for c in left}
    gone = run("--kb", kb_path, "--source", f"gold:{claims}", "--exclude", tmp_path / "no", out)
    assert gone.exit_code != 0 and "no" in gone.output and "Traceback" not in gone.output


def test_context_aligns_proofs_and_nothing_else(kb_path: str, tmp_path: Path) -> None:
    claims, out = few(tmp_path / "claims.jsonl", 3), tmp_path / "samples.jsonl"
    arguments = ("--kb", kb_path, "--source", f"gold:{claims}")
    assert run(*arguments, out).exit_code == 0
    by_words = list(read_samples(out))
    done = run(*arguments, "--context", "mini", out)
    assert done.exit_code == 0, done.output
    by_context = list(read_samples(out))
    proofs = 0
    for one, other in zip(by_words, by_context, strict=True):
        if isinstance(one, ProveSample) and isinstance(other, ProveSample):
            proofs += 1
            assert (one.claim, one.evidence) == (other.claim, other.evidence)
            assert one.proof.sufficient is other.proof.sufficient
            other.proof.validate(other.claim, other.evidence)
        else:
            assert one == other
    assert proofs


def test_nothing_is_left_of_a_file_that_cannot_be_written(kb_path: str, tmp_path: Path) -> None:
    claims = few(tmp_path / "claims.jsonl", 2)
    nowhere = tmp_path / "none" / "samples.jsonl"
    done = run("--kb", kb_path, "--source", f"gold:{claims}", nowhere)
    assert done.exit_code == 1 and f"{nowhere}: its directory does not exist" in done.output
    done = run("--kb", kb_path, "--source", f"gold:{claims}", tmp_path)
    assert done.exit_code == 1 and f"{tmp_path}: is a directory" in done.output
    claims.write_text(claims.read_text() + '{"claim": 5}\n')
    done = run("--kb", kb_path, "--source", f"gold:{claims}", tmp_path / "samples.jsonl")
    assert done.exit_code == 1 and "Traceback" not in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claims.jsonl"]


@pytest.mark.parametrize("option", ["--source", "--documents", "--exclude"])
def test_inputs_are_not_written_over(kb_path: str, tmp_path: Path, option: str) -> None:
    claims, read = few(tmp_path / "claims.jsonl", 2), few(tmp_path / "read.jsonl", 2)
    before = read.read_bytes()
    named = f"gold:{read}" if option == "--source" else read
    done = run("--kb", kb_path, "--source", f"gold:{claims}", option, named, read)
    assert done.exit_code == 1 and f"{read}: is the input as well" in done.output
    assert read.read_bytes() == before


def test_missing_gold_is_an_error_or_left_out_and_listed(kb_path: str, tmp_path: Path) -> None:
    claims, out = missing_claims(tmp_path), tmp_path / "samples.jsonl"
    arguments = ("--kb", kb_path, "--source", f"gold:{claims}")
    done = run(*arguments, out)
    assert done.exit_code == 1 and not out.exists()
    assert "claim 'gone': there is no document 'Nowhere'" in done.output
    assert "--missing skip" in done.output
    done = run(*arguments, "--missing", "list", out)
    assert done.exit_code == 0, done.output
    assert "claim 'gone' is left out" in done.output and "1 missing" in done.output
    done = run(*arguments, "--missing", "skip", out)
    assert done.exit_code == 0 and "'gone'" not in done.output
    assert "Gone." not in {sample.claim for sample in read_samples(out)}


def test_documents_besides_supply_what_is_missing(kb_path: str, tmp_path: Path) -> None:
    claims, pages = missing_claims(tmp_path), tmp_path / "pages.jsonl"
    page = {"title": "Nowhere", "sentences": ["It is [[Utopia|a place]] in [[Erewhon]]."]}
    pages.write_text(json.dumps(page) + "\n")
    out = tmp_path / "samples.jsonl"
    done = run("--kb", kb_path, "--source", f"gold:{claims}", "--documents", pages, out)
    assert done.exit_code == 0, done.output
    texts = {text for sample in read_samples(out) for _, text in sample.evidence}
    assert "It is a place in Erewhon." in texts


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--source", "hover:nowhere.jsonl"], "nowhere.jsonl"),
        (["--source", "claims.jsonl"], "not FORMAT:FILE"),
        (["--source", "gold:x", "--negatives", "beams"], "go together"),
        (["--source", "gold:x", "--model", "mini"], "go together"),
        ([], "Missing option '--source'"),
        (["--source", "gold:x", "--splits", "-1"], "--splits"),
        (["--source", "gold:x", "--rerankings", "-1"], "--rerankings"),
        (["--source", "gold:x", "--rerank-documents", "1"], "--rerank-documents"),
        (["--source", "gold:x", "--sentences", "11"], "--sentences"),
    ],
)
def test_wrong_arguments(kb_path: str, tmp_path: Path, arguments: list[str], problem: str) -> None:
    done = run("--kb", kb_path, *arguments, tmp_path / "out.jsonl")
    assert done.exit_code != 0 and problem in done.output
    assert "Traceback" not in done.output and list(tmp_path.iterdir()) == []


def test_a_source_of_which_nothing_comes_is_an_error(kb_path: str, tmp_path: Path) -> None:
    path = tmp_path / "claims.jsonl"
    path.write_text('{"claim": "Gone.", "evidence": [["Nowhere", 0]]}\n')
    out = tmp_path / "out.jsonl"
    done = run("--kb", kb_path, "--source", f"gold:{path}", "--missing", "skip", out)
    assert done.exit_code == 1 and "no samples come of it (claims: 1 missing)" in done.output
    assert not out.exists()


def test_beams_give_documents_that_the_model_takes_for_gold(user_cache: None) -> None:
    from admiral import Admiral, RetrievalConfig

    claims = [claim for claim in read_gold(DEMO) if len(claim.titles) > 1][:2]
    config = RetrievalConfig(judge="never", beam_size=4, title_beams=2, rerank_documents=6)
    with Admiral.from_pretrained("mini", kb="demo", config=config) as system:
        searched = Bm25Negatives(system.kb, 20)
        found = BeamNegatives(system, searched).find(claims)
        plain = searched.find(claims)
    for claim, negatives, other in zip(claims, found, plain, strict=True):
        titles = [document.title for document in negatives.documents]
        assert not set(titles) & set(claim.titles)
        assert len(titles) == len(set(titles)) >= len(other.documents)
        assert titles != [document.title for document in other.documents]
        assert not {pair[0] for pair in negatives.sentences} & set(claim.titles)


def test_corpora(kb_path: str, tmp_path: Path) -> None:
    pages = tmp_path / "pages.jsonl"
    pages.write_text('{"title": "Nowhere", "sentences": ["It is not."]}\n')
    documents = read_documents([pages])
    with KnowledgeBase.open(kb_path) as kb:
        corpus = ExtendedCorpus(kb, documents)
        assert corpus.row("Nowhere") == -1 and corpus.row("Seth Meyers") == kb.row("Seth Meyers")
        assert fault(corpus, (("Nowhere", 0), ("Seth Meyers", 0))) is None
        assert fault(corpus, (("Nowhere", 1),)) == (
            "'Nowhere' has no sentence 1: it has 1, counted from 0"
        )
        assert corpus.search(["comedian"], 3) == kb.search(["comedian"], 3)
    passages = PassageCorpus(documents.values())
    assert passages.row("Nowhere") == 0 and passages.row("Erewhon") is None
    assert [one.title for one in passages.search(["anything"], 5)[0]] == ["Nowhere"]


def test_hop_0_is_among_the_samples(kb_path: str, tmp_path: Path) -> None:
    out = tmp_path / "samples.jsonl"
    done = run("--kb", kb_path, "--source", f"gold/retrieve:{few(tmp_path / 'c.jsonl')}", out)
    assert done.exit_code == 0, done.output
    samples = [sample for sample in read_samples(out) if isinstance(sample, RetrieveSample)]
    assert {bool(sample.evidence) for sample in samples} == {True, False}
