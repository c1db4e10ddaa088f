"""`admiral index` and `info`."""

import json

import pytest
from click.testing import CliRunner

from admiral.cli.index import index_command, info_command
from admiral.models.checkpoint import load_seq2seq, locate_checkpoint


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    records = [
        {"title": "Bird", "text": "Birds lay eggs. Most of them fly."},
        {"title": ""},
        {"title": "Bird", "text": "Again."},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _index(corpus, kb, *options):
    arguments = [str(corpus), "--kb", str(kb), "--bm25", "none", *options]
    return CliRunner().invoke(index_command, arguments)


def test_index_and_info(corpus, tmp_path):
    kb = tmp_path / "kb"
    result = _index(corpus, kb, "--skip-bad", "--on-duplicate", "merge")
    assert result.exit_code == 0, result.output
    first, *rest = result.stdout.splitlines()
    assert first.startswith(f"{kb}: 1 documents, 3 sentences, ")
    assert rest == ["duplicate titles (merge): 1", "bad records skipped: 1"]

    result = CliRunner().invoke(info_command, ["--kb", str(kb), "--check"])
    assert (result.exit_code, result.stderr) == (0, f"{kb}: sound\n")
    facts = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert facts["documents"] == "1"
    assert facts["sentences"] == "3"
    assert facts["corpora"] == "corpus.jsonl (jsonl)"

    result = CliRunner().invoke(info_command, ["--kb", str(kb), "--json"])
    facts = json.loads(result.stdout)
    assert facts["counts"] == {"documents": 1, "sentences": 3, "links": 0}
    assert "checkpoints" not in facts


def test_info_says_what_the_checkpoints_of_settings_take():
    folder = locate_checkpoint("mini").resolve()
    mini = str(folder)
    settings = ["--set", "retriever_models=mini,mini", "--set", f"prover={mini}"]
    result = CliRunner().invoke(info_command, ["--json", *settings])
    (one,) = json.loads(result.stdout)["checkpoints"]
    assert (one["path"], one["settings"]) == (mini, ["model", "retriever_models", "prover"])
    model = load_seq2seq(folder)
    width = model.config.d_model
    heads = width + 1 + 2 * width + 1  # of the reranker and of the judge `classifier`
    tensors = [*model.parameters(), *model.buffers()]
    assert one["weights"] == heads + sum(tensor.numel() for tensor in tensors)
    assert one["memory"] == 4 * one["weights"]
    shown = CliRunner().invoke(info_command, settings).stdout
    assert f" MB: {mini} (model, retriever_models, prover)\n" in shown
    result = CliRunner().invoke(info_command, ["--set", "prover=none"])
    assert result.exit_code == 1
    assert "no such checkpoint" in str(result.exception)
