"""Folders that are no knowledge base, or a damaged one: each is one clear line."""

import json
import os
import sqlite3

import pytest

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, add, build, check, info


def database(kb, *statements):
    with sqlite3.connect(kb / "kb.sqlite") as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def of_another_release(kb):
    (kb / "kb.sqlite").rename(kb / "manifest.json")


def cut_off(kb):
    with (kb / "kb.sqlite").open("r+b") as file:
        file.truncate(os.path.getsize(kb / "kb.sqlite") // 2)


DAMAGES = {
    "is of release 0.1 or 0.2. Delete the folder": of_another_release,
    "file is not a database": lambda kb: (kb / "kb.sqlite").write_bytes(b"no database" * 1000),
    "malformed": cut_off,
    "is the database of another program": lambda kb: database(kb, "PRAGMA application_id = 7"),
    "is of version 99; this release reads version 5": lambda kb: database(
        kb, "PRAGMA user_version = 99"
    ),
    "holds no documents": lambda kb: database(kb, "DELETE FROM settings"),
    "titles.marisa: damaged (missing)": lambda kb: (kb / "derived/1/titles.marisa").unlink(),
    "rows.npy: damaged (of 3 bytes": lambda kb: (kb / "derived/1/titles-rows.npy").write_bytes(
        b"cut"
    ),
    "not a knowledge base (there is no kb.sqlite)": lambda kb: (kb / "kb.sqlite").unlink(),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_damage_is_one_line(message, birds, tmp_path):
    kb = tmp_path / "kb"
    build(birds, kb, bm25="none", progress=False)
    DAMAGES[message](kb)
    for use in (KnowledgeBase.open, info, check):
        with pytest.raises(AdmiralError) as caught:
            use(kb)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        assert str(kb) in str(caught.value)


def test_other_folders_are_not_replaced(birds, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    for target in (tmp_path / "mine", birds):
        with pytest.raises(AdmiralError, match="something else is there"):
            build(birds, target, bm25="none", overwrite=True, progress=False)
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_can_be_read(birds, tmp_path):
    kb = tmp_path / "kb"
    build(birds, kb, bm25="bm25s", progress=False)
    kb.chmod(0o500)
    try:
        with KnowledgeBase.open(kb) as opened:
            assert opened.search(["eggs"], 1)[0][0].title == "Bird"
        with pytest.raises(AdmiralError, match="Check the permissions"):
            add(birds, kb, on_duplicate="replace", progress=False)
    finally:
        kb.chmod(0o700)


def test_check_finds_wrong_counts(birds, tmp_path):
    kb = tmp_path / "kb"
    build(birds, kb, bm25="none", progress=False)
    assert check(kb) == []
    counts = json.dumps({"documents": 3, "sentences": 7, "links": 3})
    database(kb, f"UPDATE settings SET value = '{counts}' WHERE name = 'counts'")
    assert check(kb) == [f"{kb / 'kb.sqlite'}: 5 sentences where it says 7"]


def test_only_one_process_writes(birds, tmp_path):
    from admiral.kb.change import changing

    kb = tmp_path / "kb"
    build(birds, kb, bm25="none", progress=False)
    with changing(kb), pytest.raises(AdmiralError, match="another process is building or changing"):
        add(birds, kb, on_duplicate="skip", progress=False)
    assert add(birds, kb, on_duplicate="skip", progress=False).skipped == 3
