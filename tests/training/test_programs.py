"""The command lines of the four training programs, and the checkpoints they write."""

import json
import re
import sys
from pathlib import Path

import pytest
from accelerate.state import AcceleratorState
from huggingface_hub import HfApi
from tokenizers import __version__ as tokenizers_version

from admiral.models.checkpoint import load_checkpoint
from tests.training.tiny import elsewhere, lines, prepare, run_program, to_yaml
from training.__main__ import PROGRAMS, TRAINERS, main
from training.loop.run_files import push
from training.multitask.multitask_settings import METRICS

MULTITASK = {name: trainer.tasks for name, trainer in TRAINERS.items() if trainer.tasks}


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("programs"))


def run(name, config, *arguments):
    path = to_yaml(config, Path(config.out).with_suffix(".yaml"))
    return run_program(main, name, "--config", path, *arguments)


@pytest.mark.parametrize("name", [*TRAINERS, *PROGRAMS])
def test_every_program_has_help(name):
    done = run_program(main, name, "--help")
    assert done.exit_code == 0, done.output
    assert "Options:" in done.output


def test_an_unknown_program_is_an_error():
    assert "No such command 'absent'" in run_program(main, "absent").output
    assert "  link_prediction " in run_program(main, "--help").output


@pytest.mark.parametrize("name", MULTITASK)
def test_each_program_trains_and_evaluates_its_tasks(name, settings):
    config = elsewhere(settings, name).changed(keep="best", markers=name == "joint")
    done = run(name, config, "--set", "steps=4")
    assert done.exit_code == 0, done.output
    (measured,) = [line for line in lines(config) if "dev/score" in line]
    tasks = MULTITASK[name]
    wanted = {name for task in tasks for name in METRICS[task]} | {"score"}
    assert {m.removeprefix("dev/") for m in measured if "loss" not in m} == wanted | {"step"}
    checkpoint = load_checkpoint(config.out)
    assert (checkpoint.head is not None) == ("rerank" in tasks)
    assert (checkpoint.tokens.task("prove") is not None) == (name == "joint")


def test_the_model_card_names_files_settings_metrics_and_versions_but_no_paths(settings):
    config = elsewhere(settings, "carded")
    assert run("joint", config, "--set", "steps=2").exit_code == 0
    text = (Path(config.out) / "README.md").read_text()
    assert text.startswith("---\nlibrary_name: transformers\n")
    assert "| samples.jsonl | train | 8 prove, 4 rerank, 20 retrieve |" in text
    assert "| model.safetensors | start from |" in text
    assert len(re.findall(r"\| [0-9a-f]{64} \|", text)) == 3
    assert f"| tokenizers | {tokenizers_version} |" in text
    assert "| encoder_lr | 0.01 |" in text
    assert "| prove_f1 |" in text and "2 of 2 steps" in text
    assert str(Path(config.out).parent) not in text


@pytest.mark.skipif(sys.platform != "linux", reason="retrieval is tested on Linux")
def test_the_checkpoint_can_be_used_for_retrieval(settings):
    from admiral import Admiral, load_config

    config = elsewhere(settings, "answers")
    assert run("joint", config).exit_code == 0
    chosen = load_config(None, ["reranker=cross-encoder", "judge=generated", "title_beams=0"])
    with Admiral.from_pretrained(config.out, kb="demo", config=chosen) as system:
        result = system.retrieve("Rome is a city.", hops=1)
    assert result.documents and result.hops[0].proof is not None


@pytest.fixture
def new_process():
    """Reset accelerate, which keeps the precision of the first run in a process."""
    AcceleratorState._reset_state(reset_partial_state=True)
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("stepz", "3", "no such setting. Did you mean 'steps'?"),
        ("samples", "absent.jsonl", "absent.jsonl: cannot be read"),
        ("start", "absent", "is not a directory and cannot be downloaded"),
        ("kb", "absent", "absent"),
        ("precision", "fp16", "should be 'fp32' or 'bf16'"),
        ("best_metric", "bleu", "'bleu' is not one of score, loss, retrieve_top1"),
        ("tracker", "notebook", "notebook is not installed"),
        ("tracker", "aim", "is not installed"),
        ("out", ".", "'.' has no name of its own"),
        ("out", "..", "'..' has no name of its own"),
        ("seed", "99999999999999999999", "should be less than or equal to 4294967295"),
    ],
)
def test_errors_are_reported_in_one_line(settings, key, value, message, new_process):
    config = elsewhere(settings, "bad")
    done = run("joint", config, "--set", f"{key}={value}")
    assert done.exit_code == 1 and isinstance(done.exception, SystemExit), done.output
    (error,) = [line for line in done.output.splitlines() if line.startswith("Error: ")]
    assert message in error
    assert not Path(config.out).exists()


class Folder(HfApi):
    """A fake hub that stores repositories in a folder."""

    def __init__(self, root):
        super().__init__()
        self.root = root

    def create_repo(self, repo_id, **_):
        (self.root / repo_id).mkdir(parents=True)

    def upload_folder(self, *, repo_id, folder_path, **_):
        for path in folder_path.iterdir():
            (self.root / repo_id / path.name).write_bytes(path.read_bytes())


def test_all_files_of_a_checkpoint_are_uploaded(settings, tmp_path):
    config = elsewhere(settings, "pushed")
    done = run("joint", config, "--set", "steps=2", "--set", "push_to_hub=someone/pushed")
    assert done.exit_code == 1  # there is no network in tests
    assert "'someone/pushed' cannot be written" in done.output
    push(Path(config.out), "someone/pushed", Folder(tmp_path))
    assert load_checkpoint(tmp_path / "someone" / "pushed").head is not None
    config_file = tmp_path / "someone" / "pushed" / "config.json"
    assert json.loads(config_file.read_text())["dtype"] == "float16"
