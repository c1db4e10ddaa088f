"""Checksums of checkpoints find every change and name the file."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from admiral.cli.index import verify_command
from admiral.errors import AdmiralError
from admiral.models.checkpoint import SUMS, verify_checkpoint, write_sums


@pytest.fixture
def checkpoint(tmp_path):
    """Create the files of a checkpoint; their content does not matter here."""
    rng = random.Random(0)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes(rng.randbytes(2000))
    (tmp_path / "README.md").write_text("A card.")
    write_sums(tmp_path)
    return tmp_path


def test_an_unchanged_checkpoint_has_no_problems(checkpoint):
    assert verify_checkpoint(checkpoint) == []
    (checkpoint / "README.md").write_text("Another card.")
    write_sums(checkpoint)
    assert verify_checkpoint(checkpoint) == []
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "--check", "--quiet", SUMS], cwd=checkpoint, check=True)


def test_the_bundled_checkpoint_has_no_problems():
    assert verify_checkpoint("mini") == []
    result = CliRunner().invoke(verify_command, ["--model", "mini"])
    assert result.exit_code == 0
    assert result.output.endswith("mini: sound\n")


def test_every_flipped_bit_is_found(checkpoint):
    rng = random.Random(1)
    for name in ("config.json", "model.safetensors", "tokenizer.json", SUMS):
        file = checkpoint / name
        content = file.read_bytes()
        for _ in range(50):
            changed = bytearray(content)
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
            file.write_bytes(changed)
            problems = verify_checkpoint(checkpoint)
            # A changed list blames the file whose line it is.
            assert problems
            assert name == SUMS or [name in p for p in problems] == [True]
        for cut in (0, 1, len(content) // 2, len(content) - 1):
            file.write_bytes(content[:cut])
            assert verify_checkpoint(checkpoint)
        file.write_bytes(content)


def test_added_and_removed_files_are_reported(checkpoint):
    (checkpoint / "rerank_head.safetensors").write_bytes(b"new")
    (checkpoint / "tokenizer.json").unlink()
    problems = verify_checkpoint(checkpoint)
    assert [problem.removeprefix(f"{checkpoint}/") for problem in problems] == [
        "tokenizer.json: cannot be read (No such file or directory)",
        "rerank_head.safetensors: has no checksum",
    ]
    result = CliRunner().invoke(verify_command, ["--model", str(checkpoint)])
    assert isinstance(result.exception, AdmiralError)
    assert "2 problems. Restore it" in str(result.exception)


def test_a_missing_checksum_file_is_an_error(checkpoint):
    (checkpoint / SUMS).unlink()
    with pytest.raises(AdmiralError, match=r"SHA256SUMS: missing.*sha256sum"):
        verify_checkpoint(checkpoint)
    with pytest.raises(AdmiralError, match="no such checkpoint"):
        verify_checkpoint(checkpoint / "none")
