"""From the demo in WAFER's and Sphere's form to each table of docs/side.md, with tiny models."""

import json
import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from admiral.citations.citation_file import read_wafer
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.source_search import TitleWriter
from admiral.citations.verdict_file import read_verdicts, write_verdicts
from admiral.cli.evaluate import evaluate_citations_command
from admiral.errors import AdmiralError
from admiral.models.checkpoint import load_checkpoint
from admiral.sources.open_sources import Sources
from admiral.sources.source_files import SourceFiles
from admiral.sources.source_indexing import build_sources
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from tests.training.tiny import SHORT_RUN, page_of_settings, same_weights
from training.citation_pairs import PairOptions, cited_passages
from training.citation_pairs import main as write_pairs
from training.cited_pages import (
    CitedPassages,
    DenseProgram,
    EmConfig,
    SourceVerifierProgram,
    read_cited_passages,
)
from training.data.records import write_records
from training.data.samples import read_samples
from training.expansion_data import TITLE_WORDS
from training.expansion_data import main as write_samples
from training.loop.training_loop import run_training

ROOT = Path(__file__).parents[3]
DEMO = ROOT / "admiral" / "data" / "citations"
WAFER = DEMO / "wafer.jsonl"
QUICK = CitationConfig(
    verifier="coverage", min_words=1, ranked=200, verify_candidates=0, device="cpu"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("side")


@pytest.fixture(scope="module")
def kb(folder):
    build_sources(SourceFiles([DEMO / "sphere.jsonl"]), folder / "sphere", words=100, stride=100)
    return folder / "sphere"


@pytest.fixture(scope="module")
def pairs(folder, kb):
    out = folder / "pairs.jsonl"
    result = CliRunner().invoke(write_pairs, [str(out), "--citations", str(WAFER), "--kb", str(kb)])
    assert result.exit_code == 0, result.output
    assert re.search("72 claims, 41 left out: tagged as failing", result.output)
    return out


@pytest.fixture(scope="module")
def start(folder):
    return write_classifier_directory(folder / "start", labels=())


def settings(start, pairs, out, **others):
    return EmConfig(
        start=str(start),
        pairs=str(pairs),
        dev=str(pairs),
        out=str(out),
        max_length=48,
        **{**SHORT_RUN, "eval_every": 6, **others},
    )


def train(program, config):
    run_training(config, partial(program, config))


def evaluated(predictions, *options):
    result = CliRunner().invoke(
        evaluate_citations_command,
        ["--gold", str(WAFER), "--predictions", str(predictions), *options],
    )
    if isinstance(result.exception, AdmiralError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def verified(folder, kb, count=None, **changes):
    out = folder / f"{'-'.join(map(str, changes)) or 'plain'}.jsonl"
    claims = [each.claim for each in read_wafer(WAFER)][:count]
    write_verdicts(out, kb, QUICK.changed(**changes), claims, overwrite=True, quiet=True)
    return out


def test_lines_of_sphere_are_pages(kb):
    lines = [json.loads(line) for line in (DEMO / "sphere.jsonl").read_text().splitlines()]
    with Sources.open(kb) as opened:
        sources = list(opened)
        assert {source.url for source in sources} == {line["url"] for line in lines}
        words = sum(len(source.text.split()) for source in sources)
        assert words == sum(len(line["raw"].split()) for line in lines)


def test_rankings_and_failures(folder, kb):
    out = verified(folder, kb)
    record = json.loads(evaluated(out, "--json"))
    assert record["claims"] == {"featured": 36, "other": 36, "all": 72}
    assert (record["failed"], record["good"], record["not_scored"]) == (41, 36, 0)
    rows = {(row["ranking"], row["group"]): row for row in record["rankings"]}
    assert rows["verified", "all"]["P@1"] > 0.9
    for row in rows.values():
        values = [row[name] for name in ("P@1", "SR@5", "SR@20", "SR@100", "SR@200")]
        assert values == sorted(values)
    assert record["curves"]["score"]["auroc"] > 0.8
    text = evaluated(out)
    assert re.search(r"verified +all +72 +\d", text)
    assert "41 failed, 36 of featured articles" in text


def test_an_encoder_is_trained_and_searched_with(folder, kb, pairs, start):
    config = settings(start, pairs, folder / "encoder", strategy="soft", lr=1e-3)
    train(DenseProgram, config)
    assert "accuracy" in (folder / "encoder" / "README.md").read_text()
    # The weights are exported in half precision, and can be trained on.
    train(DenseProgram, settings(config.out, pairs, folder / "encoder-2", strategy="soft"))
    out = folder / "dense"
    from admiral.citations.source_search import open_encoder

    encoder = open_encoder(CitationConfig(encoder=config.out, device="cpu", precision="fp32"))
    files = SourceFiles([DEMO / "sphere.jsonl"])
    build_sources(files, out, words=100, stride=100, encoder=encoder)
    changes = {"encoder": config.out, "index": "both", "precision": "fp32"}
    both = read_verdicts(verified(folder, out, 9, **changes))
    dense = read_verdicts(verified(folder, out, 9, **{**changes, "index": "dense"}))
    name = next(iter(both))
    assert set(dense[name]["found"]) <= set(both[name]["found"])
    assert dense[name]["found"] != both[name]["found"]
    with pytest.raises(AdmiralError, match="vectors"):
        verified(folder, kb, **changes)


def test_a_verifier_is_trained_and_verified_with(folder, kb, pairs, start):
    config = settings(start, pairs, folder / "verifier", lr=1e-2, head_lr=1e-2)
    train(SourceVerifierProgram, config)
    changes = {"verifier": "cross-encoder", "classifier": config.out, "aggregate": "max"}
    out = verified(folder, kb, 9, **changes, verify_candidates=2)
    record = next(iter(read_verdicts(out).values()))
    scores = [each["score"] for each in record["ranking"]]
    scored = [score for score in scores if score is not None]
    assert scored == sorted(scored, reverse=True)
    assert scores[: len(scored)] == scored
    # Another strategy makes another model, and a run resumes where it stopped.
    other = config.changed(out=str(folder / "other"), strategy="first", steps=6)
    train(SourceVerifierProgram, other.changed(steps=3))
    train(SourceVerifierProgram, other)
    assert not same_weights(other, config)


@pytest.mark.parametrize("program", [DenseProgram, SourceVerifierProgram])
@pytest.mark.parametrize("strategy", ["hard", "soft"])
def test_the_passage_of_the_cited_page_is_learned(folder, start, program, strategy):
    towns = ("Rome", "Paris", "Oslo", "Bern")
    items = [
        CitedPassages(
            town,
            town,
            f"{town} is a city",
            f"{town} is a city",
            (("", "never on the rivers"), ("", f"{town} is the capital")),
            tuple(("", f"{other} is the capital") for other in towns if other != town),
        )
        for town in towns
    ]
    pairs = folder / "towns.jsonl"
    assert write_records(pairs, items) == 4
    out = folder / f"{program.product}-{strategy}"
    config = settings(start, pairs, out, strategy=strategy, shared_negatives=False, dropout=0.0)
    train(program, config.changed(lr=1e-2, head_lr=1e-2, steps=60, eval_every=0, save_every=60))
    assert re.search(r"\| accuracy \| 1(\.0*)? \|", (out / "README.md").read_text())


def test_pairs_hold_passages_of_the_cited_page_and_of_others(kb, pairs):
    gold = {each.claim.id: each.claim for each in read_wafer(WAFER)}
    with Sources.open(kb) as opened:
        for item in read_cited_passages(pairs):
            (url,) = (one.url for one in gold[item.id].citations)
            own = [(one.title, one.text) for one in opened.passages(url)]
            assert list(item.positives) == own[:8]
            assert not set(item.negatives) & set(own)
            assert 1 <= len(item.negatives) <= 8
        given = {"out": "pairs.jsonl", "citations": [WAFER], "kb": str(kb)}
        options = PairOptions(**given, positives=1, retrieved=1, drawn=0)
        few = cited_passages(opened, list(gold.values())[:4], options, Counter())
        assert all(len(one.positives) == len(one.negatives) == 1 for one in few)


def test_titles_are_written_for_queries(kb, folder):
    claims = [each.claim for each in read_wafer(WAFER)][:3]
    titles = TitleWriter(load_checkpoint("mini")).titles(claims)
    assert len(titles) == 3
    assert all("[" not in title for title in titles)
    assert any(titles)
    found = read_verdicts(verified(folder, kb, 3, expander="mini"))
    for claim, title in zip(claims, titles, strict=True):
        assert found[claim.id]["query"].endswith(title)
        assert claim.claim in found[claim.id]["query"]


def test_titles_of_cited_pages_are_samples_of_the_expander(kb, folder):
    out, fewer, dev = (folder / f"{name}.jsonl" for name in ("titles", "fewer", "dev"))
    dev.write_text(WAFER.read_text(encoding="utf-8").split("\n", 1)[0], encoding="utf-8")
    options = ["--citations", str(WAFER), "--kb", str(kb)]
    for arguments in ([str(out)], [str(fewer), "--exclude", str(dev)]):
        result = CliRunner().invoke(write_samples, [*options, *arguments])
        assert result.exit_code == 0, result.output
    samples = list(read_samples(out))
    titles = {title for sample in samples for title in sample.gold}
    assert len(samples) == 113
    assert "Krakatoa, August 1883" in titles
    # Brackets delimit titles in the output of the retriever.
    assert all("[" not in title and len(title.split()) <= TITLE_WORDS for title in titles)
    (excluded,) = {claim.claim.page for claim in read_wafer(dev)}
    assert not any(sample.claim.startswith(f"{excluded}:") for sample in read_samples(fewer))
    assert len(list(read_samples(fewer))) < len(samples)


def test_errors(folder, kb, pairs, start):
    out = folder / "no-ranking.jsonl"
    claims = [each.claim for each in read_wafer(WAFER)]
    config = QUICK.changed(ranked=0, suggest=False)
    write_verdicts(out, kb, config, claims, quiet=True)
    with pytest.raises(AdmiralError, match=r"has no ranking. Verify .* --set ranked=200"):
        evaluated(out)
    with pytest.raises(AdmiralError, match=r"pairs.jsonl:1.*positives"):
        bad = folder / "bad"
        bad.mkdir()
        record = json.loads(pairs.read_text().splitlines()[0]) | {"positives": [["a"]]}
        (bad / "pairs.jsonl").write_text(json.dumps(record))
        read_cited_passages(bad / "pairs.jsonl")
    with pytest.raises(AdmiralError, match=r"there is no config.json"):
        train(SourceVerifierProgram, settings(folder, pairs, folder / "none"))


def test_the_shipped_settings_are_valid_and_documented():
    """To update the page, paste the expected text."""
    for name in ("verifier", "dense"):
        found = EmConfig.read(ROOT / "configs" / f"paper-side-{name}.yaml")
        assert found.out == f"runs/paper-side-{name}"
    _, _, documented = (ROOT / "docs" / "side.md").read_text().partition("\n## Settings\n")
    assert documented == page_of_settings(EmConfig)
