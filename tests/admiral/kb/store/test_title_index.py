""""""

import json
import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, build, info, verify
from admiral.kb.store import titles as module
from admiral.kb.store.titles import TitleIndex, write_titles
from trie import TokenTrie

TITLES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    min_size=1,
    unique=True,
)


@given(TITLES, st.text(st.characters(exclude_categories=["Cs"])))
def test_rows_and_titles_are_inverse(titles, other):
    with TemporaryDirectory() as folder:
        write_titles(Path(folder), lambda: iter(titles))
        index = TitleIndex(Path(folder))
        assert len(index) == len(titles)
        assert [index.row(title) for title in titles] == list(range(len(titles)))
        assert [index.title(row) for row in range(len(titles))] == titles
        assert index.row(other) == (titles.index(other) if other in titles else None)
        for row in (-1, len(titles)):
            with pytest.raises(IndexError):
                index.title(row)


@given(TITLES, st.text("ab\u00e9\U0001f426", max_size=2))
def test_completion(titles, prefix):
    titles = list(dict.fromkeys([*titles, *(prefix + title[:1] for title in titles), prefix + "!"]))
    with TemporaryDirectory() as folder:
        write_titles(Path(folder), lambda: iter(titles))
        completions = list(TitleIndex(Path(folder)).complete(prefix))
    expected = sorted(title for title in titles if title.startswith(prefix))
    assert completions == [(title, titles.index(title)) for title in expected]


def test_files_that_do_not_fit_together(tmp_path):
    write_titles(tmp_path, lambda: iter(["a", "b"]))
    np.save(tmp_path / "titles-rows.npy", np.zeros(3, np.uint32))
    with pytest.raises(AdmiralError, match="do not fit together"):
        TitleIndex(tmp_path)
    (tmp_path / "titles-rows.npy").write_bytes(b"junk")
    with pytest.raises(AdmiralError, match=r"titles\.marisa: damaged"):
        TitleIndex(tmp_path)
    (tmp_path / "titles.marisa").unlink()
    with pytest.raises(AdmiralError, match=r"titles\.marisa: damaged"):
        TitleIndex(tmp_path)


@pytest.mark.parametrize("key", [2, 1 << 31, (1 << 32) - 1])
def test_keys_that_the_trie_does_not_have(tmp_path, key):
    write_titles(tmp_path, lambda: iter(["a", "b"]))
    np.save(tmp_path / "titles-keys.npy", np.array([0, key], np.uint32))
    index = TitleIndex(tmp_path)
    assert index.title(0) == "a"
    with pytest.raises(AdmiralError, match=r"titles\.marisa: damaged"):
        index.title(1)


@pytest.fixture
def kb_path(birds, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    build(birds, tmp_path / "kb", bm25="none", progress=False)
    return tmp_path / "kb"


def _arrays(directory):
    return {p.name: np.load(p).ravel().tolist() for p in sorted(directory.glob("*.npy"))}


def test_the_trie_is_built_once(kb_path, tokens, tmp_path, monkeypatch):
    with KnowledgeBase.open(kb_path) as kb:
        assert kb.title_trie(tokens) is kb.title_trie(tokens)
    place = kb_path / "tries" / tokens.fingerprint
    expected = TokenTrie.build(tokens.encode_batch(["Great tit", "Bird", "Seed"]))
    (tmp_path / "expected").mkdir()
    expected.save(tmp_path / "expected")
    assert _arrays(place) == _arrays(tmp_path / "expected") != {}

    def never(*_):
        raise AssertionError("built again")

    monkeypatch.setattr(TokenTrie, "build", never)
    with KnowledgeBase.open(kb_path) as kb:
        kb.title_trie(tokens)
    assert verify(kb_path) == []
    assert info(kb_path).tries == [tokens.fingerprint]


def test_damage_is_found_and_repaired(kb_path, tokens, caplog):
    with KnowledgeBase.open(kb_path) as kb:
        kb.title_trie(tokens)
    place = kb_path / "tries" / tokens.fingerprint
    sound = _arrays(place)
    for file in sorted(place.glob("*.npy")):
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        assert any("changed" in problem for problem in verify(kb_path))
        with caplog.at_level(logging.WARNING), KnowledgeBase.open(kb_path) as kb:
            kb.title_trie(tokens)
        assert "damaged" in caplog.text
        caplog.clear()
        assert _arrays(place) == sound
        file.write_bytes(whole[: len(whole) // 2])
        assert any("not a complete trie" in problem for problem in verify(kb_path))
        with caplog.at_level(logging.WARNING), KnowledgeBase.open(kb_path) as kb:
            kb.title_trie(tokens)
        assert verify(kb_path) == []
        assert _arrays(place) == sound


def test_a_trie_of_an_earlier_format_is_built_again(kb_path, tokens):
    with KnowledgeBase.open(kb_path) as kb:
        kb.title_trie(tokens)
    manifest = kb_path / "tries" / tokens.fingerprint / "trie.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": 2}))
    (manifest.parent / "firsts.npy").write_bytes(b"a bit vector")
    assert verify(kb_path) == []
    assert info(kb_path).tries == []
    with KnowledgeBase.open(kb_path) as kb:
        trie = kb.title_trie(tokens)
        assert trie.rows(trie.walk(tokens.encode("Bird"))).tolist() == [kb.row("Bird")]
    assert not (manifest.parent / "firsts.npy").exists()
    assert verify(kb_path) == []
    assert info(kb_path).tries == [tokens.fingerprint]


def test_a_trie_of_another_build_is_replaced(kb_path, tokens):
    with KnowledgeBase.open(kb_path) as kb:
        kb.title_trie(tokens)
    manifest = kb_path / "tries" / tokens.fingerprint / "trie.json"
    value = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**value, "knowledge_base": "0" * 64}))
    (problem,) = verify(kb_path)
    assert "not a complete trie of this knowledge base" in problem
    with KnowledgeBase.open(kb_path) as kb:
        kb.title_trie(tokens)
    assert verify(kb_path) == []


def test_a_read_only_knowledge_base_uses_the_cache(kb_path, tokens, tmp_path, monkeypatch):
    monkeypatch.setattr(module.os, "access", lambda path, mode: path != kb_path)
    with KnowledgeBase.open(kb_path) as kb:
        kb.title_trie(tokens)
        digest = kb.digest[:32]
    assert not (kb_path / "tries").exists()
    place = tmp_path / "cache" / "admiral" / "tries" / digest / tokens.fingerprint
    made = (place / "trie.json").stat().st_mtime_ns
    with KnowledgeBase.open(kb_path) as kb:
        kb.title_trie(tokens)
    assert (place / "trie.json").stat().st_mtime_ns == made


def test_without_a_writable_folder_the_trie_stays_in_memory(kb_path, tokens, tmp_path, caplog):
    (kb_path / "tries").write_text("in the way")
    (tmp_path / "cache").write_text("in the way")
    with caplog.at_level(logging.WARNING), KnowledgeBase.open(kb_path) as kb:
        assert isinstance(kb.title_trie(tokens), TokenTrie)
    assert caplog.text.count("cannot be stored") == 2
