import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from admiral.errors import AdmiralError
from admiral.kb import build, verify
from admiral.kb.manifest import read_manifest, write_manifest
from admiral.kb.titles import write_titles


@pytest.fixture
def kb_path(birds: Path, tmp_path: Path) -> Path:
    build(birds, tmp_path / "kb", bm25="none", progress=False)
    return tmp_path / "kb"


def test_sound(kb_path: Path) -> None:
    assert verify(kb_path) == []


def test_every_flipped_bit_is_found(kb_path: Path) -> None:
    manifest = read_manifest(kb_path)
    for name in manifest.files:
        path = kb_path / name
        whole = path.read_bytes()
        for position in range(0, len(whole), max(1, len(whole) // 20)):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << position % 8
            path.write_bytes(damaged)
            assert verify(kb_path) == [f"{path}: its contents were changed"]
        path.write_bytes(whole)
    assert verify(kb_path) == []


def test_every_flipped_bit_of_the_manifest_is_found(kb_path: Path) -> None:
    path = kb_path / "manifest.json"
    whole = path.read_bytes()
    before = json.loads(whole)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        try:
            verify(kb_path)
        except AdmiralError:
            continue
        # A bit that only turns white space into other white space changes nothing.
        assert json.loads(path.read_bytes()) == before


def test_missing_truncated_and_foreign_files(kb_path: Path) -> None:
    (kb_path / "titles-keys.npy").unlink()
    (kb_path / "documents" / "rows.npy").write_bytes(b"")
    (kb_path / "notes.txt").write_text("x")
    assert [p.removeprefix(f"{kb_path}/").split(": ")[0] for p in verify(kb_path)] == [
        "documents/rows.npy",
        "titles-keys.npy",
        "notes.txt",
    ]


def _reseal(kb_path: Path) -> None:
    """Make the manifest vouch for files that were changed: only the contents are wrong now."""
    manifest = read_manifest(kb_path)
    (kb_path / "manifest.json").unlink()
    write_manifest(kb_path, manifest.counts, manifest.settings)


def test_arrays_that_break_their_rules(kb_path: Path) -> None:
    cases = [
        ("titles-keys.npy", np.array([0, 0, 2], np.uint32), "not permutations"),
        ("titles-keys.npy", np.array([0, 1, 9], np.uint32), "not permutations"),
        ("titles-keys.npy", np.array([0, 1], np.uint32), "do not fit together"),
        ("documents/rows.npy", np.array([1, 3]), "not ascending from 0"),
        ("documents/rows.npy", np.array([0, 4]), "4 documents and 3 titles"),
    ]
    for name, value, message in cases:
        whole = (kb_path / name).read_bytes()
        np.save(kb_path / name, value)
        _reseal(kb_path)
        (problem, *_) = verify(kb_path)
        assert message in problem
        (kb_path / name).write_bytes(whole)
    _reseal(kb_path)
    assert verify(kb_path) == []


def test_titles_of_other_documents(kb_path: Path) -> None:
    write_titles(kb_path, lambda: iter(["Great tit", "Seed", "Bird"]))
    _reseal(kb_path)
    (problem,) = verify(kb_path)
    assert "row 1: the title 'Bird' is indexed elsewhere" in problem


def test_wrong_counts(kb_path: Path) -> None:
    manifest = read_manifest(kb_path)
    (kb_path / "manifest.json").unlink()
    write_manifest(kb_path, {**manifest.counts, "links": 7}, manifest.settings)
    assert verify(kb_path) == [f"{kb_path}: 3 links where the manifest says 7"]


def test_the_checksums_are_those_of_sha256sum(kb_path: Path) -> None:
    files = json.loads((kb_path / "manifest.json").read_text())["files"]
    for name, entry in files.items():
        data = (kb_path / name).read_bytes()
        assert entry == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_no_knowledge_base(tmp_path: Path) -> None:
    with pytest.raises(AdmiralError, match="no such knowledge base"):
        verify(tmp_path / "none")
