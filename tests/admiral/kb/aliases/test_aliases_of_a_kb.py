"""Aliases of knowledge bases that were changed, joined, or built by earlier releases."""

import shutil
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb import KnowledgeBase, add, build, compact, info, remove, verify
from admiral.kb.alias_index import document_aliases
from admiral.kb.store import read_manifest, write_manifest
from admiral.records import Document
from tests.admiral.kb.versions.test_kb_updating import applied, apply, write

TITLES = ["Great Tit", "Blue Tit", "Seed Bird", "Bird Seed", "Egg Bird"]
NAMES = ["Big Bird", "Small Bird", "Old Egg"]
_document = st.builds(
    lambda title, name: Document(title, (f"The {title}, also known as the {name}, is a bird.",)),
    st.sampled_from(TITLES),
    st.sampled_from(NAMES),
)
_change = st.one_of(
    st.tuples(st.just("add"), st.lists(_document, min_size=1, max_size=5), st.just("replace")),
    st.tuples(st.just("remove"), st.lists(st.sampled_from(TITLES), min_size=1, max_size=3)),
    st.tuples(st.just("compact")),
)
_documents = st.lists(_document, min_size=1, unique_by=lambda d: d.title)


def check_aliases(path, documents):
    """Compare the aliases of a knowledge base with those of its documents."""
    owners = defaultdict(list)
    for document in documents:
        for name in document_aliases(document):
            owners[name].append(document.title)
    expected = {name: [(name, owners[name])] for name in NAMES if 1 <= len(owners[name]) <= 3}
    with KnowledgeBase.open(path) as kb:
        found = {name: kb.aliases_beginning(f"{name} flies") for name in NAMES}
    assert {name: titles for name, titles in found.items() if titles} == expected
    assert verify(path) == []


@settings(max_examples=15)
@given(_documents, st.lists(_change, max_size=4))
def test_changes(corpus, changes):
    with TemporaryDirectory() as name:
        kb = Path(name) / "kb"
        build(write(kb.parent, corpus), kb, bm25="none", progress=False)
        check_aliases(kb, corpus)
        for change in changes:
            if remaining := applied(change, corpus):
                apply(change, kb)
                corpus = remaining
                check_aliases(kb, corpus)


def without_aliases(kb):
    """Make a knowledge base one of a release that knew no aliases."""
    manifest = read_manifest(kb)
    shutil.rmtree(kb / "aliases")
    (kb / "manifest.json").unlink()
    write_manifest(kb, manifest.counts, manifest.settings)
    return kb


def test_knowledge_bases_of_earlier_releases(tmp_path):
    first, second = (
        Document(title, (f"{title}, known as the {name}, is a bird.",))
        for title, name in (("Great Tit", "Big Bird"), ("Blue Tit", "Small Bird"))
    )
    kb = tmp_path / "kb"
    build(write(tmp_path, [first]), kb, bm25="none", progress=False)
    check_aliases(without_aliases(kb), [])
    assert "aliases" not in info(kb).sizes
    # Documents that are added have aliases, and after a compaction all have.
    add(write(tmp_path, [second]), kb, progress=False)
    check_aliases(kb, [second])
    compact(kb, progress=False)
    check_aliases(kb, [first, second])
    assert info(kb).sizes["aliases"] > 0
    remove("Blue Tit", kb, progress=False)
    check_aliases(kb, [first])


def test_a_closed_knowledge_base(tmp_path, birds):
    build(birds, tmp_path / "kb", bm25="none", progress=False)
    kb = KnowledgeBase.open(tmp_path / "kb")
    kb.close()
    with pytest.raises(AdmiralError, match="was closed"):
        kb.aliases_beginning("Bird")


def test_verify_checks_the_arrays(tmp_path):
    kb = tmp_path / "kb"
    document = Document("Great Tit", ("The Great Tit, known as the Big Bird, is a bird.",))
    build(write(tmp_path, [document]), kb, bm25="none", progress=False)
    manifest = read_manifest(kb)
    np.save(kb / "aliases" / "rows.npy", np.array([7], np.uint32))
    (kb / "manifest.json").unlink()
    write_manifest(kb, manifest.counts, manifest.settings)
    (problem,) = verify(kb)
    assert "aliases/rows.npy: not rows of the documents" in problem
