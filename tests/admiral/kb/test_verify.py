import json
from dataclasses import replace

import numpy as np
import pytest

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, add, build, remove, verify
from admiral.kb.store import read_manifest, replace_manifest, write_manifest
from admiral.kb.store.titles import write_titles
from admiral.storage.atomic_files import describe_files


@pytest.fixture
def kb_path(birds, tmp_path):
    build(birds, tmp_path / "kb", bm25="none", progress=False)
    return tmp_path / "kb"


def test_every_flipped_bit_is_found(kb_path):
    manifest = read_manifest(kb_path)
    for name in manifest.files:
        path = kb_path / name
        whole = path.read_bytes()
        for position in range(0, len(whole), max(1, len(whole) // 8)):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << position % 8
            path.write_bytes(damaged)
            assert verify(kb_path) == [f"{path}: its contents were changed"]
        path.write_bytes(whole)
    assert verify(kb_path) == []


def test_every_flipped_bit_of_the_manifest_is_found(kb_path):
    path = kb_path / "manifest.json"
    whole = path.read_bytes()
    before = json.loads(whole)
    for position in range(0, len(whole), 11):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        try:
            verify(kb_path)
        except AdmiralError:
            continue
        # Replacing white space by other white space does not change the JSON value.
        assert json.loads(path.read_bytes()) == before


def test_missing_truncated_and_foreign_files(kb_path):
    (kb_path / "titles-keys.npy").unlink()
    (kb_path / "documents" / "rows.npy").write_bytes(b"")
    (kb_path / "notes.txt").write_text("x")
    assert [p.removeprefix(f"{kb_path}/").split(": ")[0] for p in verify(kb_path)] == [
        "documents/rows.npy",
        "titles-keys.npy",
        "notes.txt",
    ]


def _reseal(kb_path):
    manifest = read_manifest(kb_path)
    (kb_path / "manifest.json").unlink()
    write_manifest(kb_path, manifest.counts, manifest.settings)


def test_invalid_arrays(kb_path):
    cases = [
        ("titles-keys.npy", np.array([0, 0, 2], np.uint32), "not permutations"),
        ("titles-keys.npy", np.array([0, 1, 9], np.uint32), "not permutations"),
        ("titles-keys.npy", np.array([0, 1], np.uint32), "do not fit together"),
        ("documents/rows.npy", np.array([1, 3]), "not ascending from 0"),
        ("documents/rows.npy", np.array([0, 4]), "do not hold the same documents"),
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


def test_titles_in_another_order_than_the_documents(kb_path):
    write_titles(kb_path, lambda: iter(["Great tit", "Seed", "Bird"]))
    _reseal(kb_path)
    (problem,) = verify(kb_path)
    assert "row 1: the title 'Bird' is indexed elsewhere" in problem


def test_wrong_counts(kb_path):
    manifest = read_manifest(kb_path)
    (kb_path / "manifest.json").unlink()
    write_manifest(kb_path, {**manifest.counts, "links": 7}, manifest.settings)
    assert verify(kb_path) == [f"{kb_path}: 3 links where the manifest says 7"]


@pytest.fixture
def changed(kb_path, write_jsonl):
    add(write_jsonl([{"title": "Nest", "text": "A nest."}]), kb_path, progress=False)
    remove(["Bird"], kb_path, progress=False)
    return kb_path


def _reseal_part(kb_path, **delta):
    m = read_manifest(kb_path)
    assert m.delta is not None
    part = {f"{m.delta.path}/{n}": e for n, e in describe_files(kb_path / m.delta.path).items()}
    files = {**{n: e for n, e in m.files.items() if not n.startswith(m.delta.path)}, **part}
    counts = {**m.counts, "documents": 3 + m.delta.documents - delta.get("removed", 1)}
    replace_manifest(kb_path, counts, m.settings, files, m.base, replace(m.delta, **delta))


def test_every_flipped_bit_of_a_delta_is_found(changed):
    assert verify(changed) == []
    (part,) = (changed / "segments").iterdir()
    for path in sorted(p for p in part.rglob("*") if p.is_file()):
        whole = path.read_bytes()
        for position in range(0, len(whole), max(1, len(whole) // 8)):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << position % 8
            path.write_bytes(damaged)
            assert verify(changed) == [f"{path}: its contents were changed"]
        path.write_bytes(whole[:-1])
        with pytest.raises(AdmiralError, match="cut off"):
            KnowledgeBase.open(changed)
        path.write_bytes(whole)
    assert verify(changed) == []


@pytest.mark.parametrize("rows", [[3], [-1], [1, 1], [[1]], [], [1.0]])
def test_invalid_removed_rows(rows, changed):
    (path,) = changed.rglob("removed.npy")
    np.save(path, np.array(rows))
    _reseal_part(changed)
    (problem,) = verify(changed)
    assert problem.startswith(f"{path}: damaged (not rows of the base in ascending order)")
    with pytest.raises(AdmiralError, match="not rows of the base in ascending order"):
        KnowledgeBase.open(changed)


def test_more_removed_rows_than_the_manifest_says(changed):
    _reseal_part(changed, removed=2)
    (problem,) = verify(changed)
    assert "do not hold the same documents" in problem
    with pytest.raises(AdmiralError, match="do not hold the same documents"):
        KnowledgeBase.open(changed)


def test_a_title_in_both_base_and_delta(changed):
    (path,) = changed.rglob("removed.npy")
    with KnowledgeBase.open(changed) as kb:
        assert kb.row("Bird") is None
    add_again = changed.parent / "again.jsonl"
    add_again.write_text('{"title": "Bird", "text": "x"}')
    add(add_again, changed, progress=False)
    assert verify(changed) == []
    (path,) = changed.rglob("removed.npy")
    np.save(path, np.array([0]))
    _reseal_part(changed)
    (problem,) = verify(changed)
    assert problem.endswith("row 1: the title 'Bird' occurs in the base segment too")


def test_the_trie_of_a_changed_base_is_checked(changed):
    (changed / "tries" / "f").mkdir(parents=True)
    (problem,) = verify(changed)
    assert "not a complete trie" in problem
