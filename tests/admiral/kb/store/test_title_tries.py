import json
import logging

import numpy as np
import pytest

from admiral.kb import KnowledgeBase, build, info, verify
from admiral.kb.store import title_tries as module
from trie import TokenTrie


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
