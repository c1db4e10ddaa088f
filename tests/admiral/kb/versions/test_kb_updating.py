"""A knowledge base after changes equals one built from the remaining documents."""

import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError, RecordError
from admiral.kb import KnowledgeBase, add, build, compact, info, read_titles, remove, verify
from admiral.kb.store import read_manifest, write_manifest
from admiral.records import Document
from trie import TokenTrie, UpdatedTrie

TITLES = ["Great tit", "Bird", "Seed", "tit", "Great Great tit", "a Bird", "zebra", "Éa", "日"]
QUERIES = ["seed", "birds lay eggs", "great tit seeds", "nothing here", "Éa"]

_words = st.sampled_from(["seed", "birds", "eggs", "lays", "great", "the", "tit", "running"])
_sentence = st.lists(_words, max_size=8).map(" ".join)
# Long documents are indexed as passages.
_long = st.lists(_sentence, min_size=2, max_size=3).map(lambda sentences: sentences * 25)
DOCUMENT = st.builds(
    lambda title, sentences: Document(title, tuple(sentences)),
    st.sampled_from(TITLES),
    st.lists(_sentence, max_size=3) | _long,
)
_documents = st.lists(DOCUMENT, min_size=1, max_size=5)
_change = st.one_of(
    st.tuples(st.just("add"), _documents, st.sampled_from(["replace", "skip"])),
    st.tuples(st.just("remove"), st.lists(st.sampled_from(TITLES), min_size=1, max_size=4)),
    st.tuples(st.just("compact")),
)


def write(folder, documents):
    path = folder / "corpus.jsonl"
    records = ({"title": d.title, "sentences": d.sentences, "links": d.links} for d in documents)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def language(trie):
    rows_of, waiting = {}, [((), trie.root)]
    while waiting:
        ids, node = waiting.pop()
        if trie.ends(node):
            rows_of[ids] = trie.rows(node).tolist()
        tokens, nodes = trie.children(node)
        pairs = zip(tokens.tolist(), nodes.tolist(), strict=True)
        waiting += [((*ids, token), child) for token, child in pairs]
    return rows_of


def view(kb, tokens, *, search=True):
    """Return everything that a reader can see, except row numbers."""
    trie = kb.title_trie(tokens)
    spelled = language(trie)
    return {
        "documents": list(kb.documents()),
        "by row": [kb.document_at(row) for row in kb.rows().tolist()],
        "by title": {t: kb.document(t) for t in TITLES if kb.row(t) is not None},
        "titles": list(kb.titles()),
        "titles by row": [kb.title(row) for row in kb.rows().tolist()],
        "completions": {p: [t for t, _ in kb.complete(p)] for p in ("", "Great", "B", "x")},
        "spelled": {ids: [kb.title(row) for row in rows] for ids, rows in spelled.items()},
        "longest": trie.longest,
        "counts": (len(kb), kb.counts),
        "found": [
            [(hit.title, hit.score) for hit in hits] for hits in kb.search(QUERIES, len(TITLES))
        ]
        if search
        else [],
    }


def applied(change, corpus):
    documents = {document.title: document for document in corpus}
    if change[0] == "add":
        for document in change[1]:
            if change[2] == "replace":
                documents.pop(document.title, None)
            documents.setdefault(document.title, document)
    elif change[0] == "remove":
        documents = {
            title: document for title, document in documents.items() if title not in change[1]
        }
    return list(documents.values())


def apply(change, kb):
    if change[0] == "add":
        corpus = write(kb.parent, change[1])
        add(corpus, kb, on_duplicate=change[2], progress=False)
    elif change[0] == "remove":
        remove(change[1], kb, ignore_missing=True, progress=False)
    else:
        compact(kb, progress=False)


def check_changes(corpus, changes, tokens, backend):
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        build(write(folder, corpus), folder / "kb", bm25=backend, progress=False)
        seen = []
        for number, change in enumerate([("compact",), *changes]):
            expected = applied(change, corpus)
            if expected:
                apply(change, folder / "kb")
                corpus = expected
            else:
                with pytest.raises(AdmiralError, match="no document would be left"):
                    apply(change, folder / "kb")
            assert verify(folder / "kb") == []
            fresh = folder / f"fresh{number}"
            build(write(folder, corpus), fresh, bm25=backend, progress=False)
            with KnowledgeBase.open(fresh) as rebuilt:
                oracle = view(rebuilt, tokens)
            kb = stack.enter_context(KnowledgeBase.open(folder / "kb"))
            # This reader opens its indexes after the next change.
            assert list(kb.documents()) == oracle["documents"]
            with KnowledgeBase.open(folder / "kb") as eager:
                assert view(eager, tokens) == oracle
            for old, then in seen[-2:]:
                assert view(old, tokens) == then
            seen.append((kb, oracle))
        for kb, _ in seen:
            kb.close()
        compact(folder / "kb", progress=False)
        assert verify(folder / "kb") == []
        parts = list((folder / "kb" / "segments").glob("*"))
        assert len(parts) <= 1  # unused segments were removed


_unique = st.lists(DOCUMENT, min_size=1, max_size=5, unique_by=lambda d: d.title)


@settings(max_examples=settings().max_examples // 2)
@given(corpus=_unique, changes=st.lists(_change, max_size=5))
def test_changes_equal_a_new_build(corpus, changes, tokens):
    check_changes(corpus, changes, tokens, "bm25s")


@pytest.mark.parametrize("backend", ["lucene", "bm25s"])
def test_both_backends(backend, tmp_path, tokens):
    old = [Document("Bird", ("Birds lay eggs.",)), Document("Seed", ("A seed grows.",))]
    new = [Document("Nest", ("A nest holds eggs.",)), Document("Egg", ("An egg is laid.",))]
    build(write(tmp_path, old), tmp_path / "kb", bm25=backend, progress=False)
    build(write(tmp_path, old + new), tmp_path / "fresh", bm25=backend, progress=False)
    add(write(tmp_path, new), tmp_path / "kb", progress=False)
    with KnowledgeBase.open(tmp_path / "kb") as kb, KnowledgeBase.open(tmp_path / "fresh") as fresh:
        assert view(kb, tokens) == view(fresh, tokens)
        queries = ["eggs of birds", "nest egg"]
        assert kb.search(queries, 3) == fresh.search(queries, 3)
        remove(["Bird"], tmp_path / "kb", progress=False)
        assert "Bird" in [hit.title for hit in kb.search(["eggs of birds"], 9)[0]]
    for _ in range(2):  # before and after a compaction
        with KnowledgeBase.open(tmp_path / "kb") as kb:
            assert kb.row("Bird") is None
            hits = kb.search(["eggs of birds"], 1)[0] + kb.search(["eggs of birds"], 9)[0]
            assert {hit.title for hit in hits} <= {"Nest", "Egg"}
            assert len(hits) >= 2
        assert verify(tmp_path / "kb") == []
        compact(tmp_path / "kb", progress=False)


@pytest.fixture
def kb(birds, tmp_path):
    build(birds, tmp_path / "kb", bm25="none", progress=False)
    return tmp_path / "kb"


def test_reports(kb, write_jsonl):
    corpus = write_jsonl(
        [
            {"title": "Nest", "text": "A nest holds eggs."},
            {"title": "Bird", "text": "Birds fly."},
            {"title": "Nest", "text": "Nests are built."},
            {"name": "no title"},
        ]
    )
    report = add(corpus, kb, on_duplicate="replace", skip_bad=True, progress=False)
    assert (report.path, report.documents, report.pending) == (kb, 4, 3)
    assert (report.added, report.replaced, report.skipped, report.bad) == (1, 1, 1, 1)
    report = add(corpus, kb, on_duplicate="skip", skip_bad=True, progress=False)
    assert (report.added, report.replaced, report.skipped, report.bad) == (0, 0, 3, 1)
    report = remove(["Nest", "Emu", "Nest", "Seed"], kb, ignore_missing=True, progress=False)
    assert (report.documents, report.removed, report.missing, report.pending) == (2, 2, 1, 3)
    facts = info(kb)
    assert (facts.version, facts.added, facts.removed) == (3, 1, 2)
    assert facts.counts == {"documents": 2, "sentences": 4, "links": 3}
    assert [source["name"] for source in facts.settings["sources"]] == [
        "birds.jsonl",
        "corpus.jsonl",
    ]
    on_disk = sum(p.stat().st_size for p in kb.rglob("*") if p.is_file())
    assert facts.sizes["total"] == on_disk
    report = compact(kb, progress=False)
    assert (report.documents, report.pending) == (2, 0)
    assert info(kb).removed == 0
    manifest = (kb / "manifest.json").read_bytes()
    compact(kb, progress=False)  # nothing has changed since
    assert (kb / "manifest.json").read_bytes() == manifest


def test_removed_documents_cannot_be_found(kb, tokens):
    remove(["Bird"], kb, progress=False)
    with KnowledgeBase.open(kb) as opened:
        assert len(opened) == 2
        assert opened.rows().tolist() == [0, 2]
        assert opened.row("Bird") is None
        assert list(opened.complete("B")) == []
        for look in (opened.title, opened.document_at):
            with pytest.raises(IndexError):
                look(1)
        assert isinstance(opened.title_trie(tokens), UpdatedTrie)
    compact(kb, progress=False)
    with KnowledgeBase.open(kb) as opened:
        assert opened.rows().tolist() == [0, 1]
        assert isinstance(opened.title_trie(tokens), TokenTrie)
        place = kb / read_manifest(kb).base.path / "tries" / tokens.fingerprint
    assert (place / "trie.json").is_file()
    assert info(kb).tries == [tokens.fingerprint]
    assert verify(kb) == []


def test_duplicate_titles(kb, write_jsonl):
    before = (kb / "manifest.json").read_bytes()
    corpus = write_jsonl([{"title": "Nest", "text": "x"}, {"title": "Bird", "text": "x"}])
    with pytest.raises(RecordError, match=r"corpus\.jsonl:2: field 'title': .*'Bird' is in the k"):
        add(corpus, kb, progress=False)
    corpus = write_jsonl([{"title": "Nest", "text": "x"}, {"title": "Nest", "text": "y"}])
    with pytest.raises(RecordError, match=r":2: .*'Nest' is taken by .*jsonl:1\. .*replace"):
        add(corpus, kb, progress=False)
    assert (kb / "manifest.json").read_bytes() == before
    assert not (kb / "segments").exists()


def test_invalid_arguments(kb, tmp_path, write_jsonl):
    before = (kb / "manifest.json").read_bytes()
    corpus = write_jsonl([{"title": "Nest", "text": "x"}])
    (tmp_path / "empty.jsonl").write_text("")
    cases = [
        (
            "'Emu', nor 1 more of those named",
            lambda: remove(["Emu", "Bird", "Rook"], kb, progress=False),
        ),
        ("'Emu'. Titles are matched exactly", lambda: remove(["Emu"], kb, progress=False)),
        ("no title given", lambda: remove([], kb, progress=False)),
        ("no document would be left", lambda: remove(["Great tit", "Bird", "Seed"], kb)),
        ("on_duplicate='merge': unknown", lambda: add(corpus, kb, on_duplicate="merge")),
        ("format='xml': unknown", lambda: add(corpus, kb, format="xml")),
        ("no such file", lambda: add(tmp_path / "none.jsonl", kb, format="jsonl")),
        ("no documents in it", lambda: add(tmp_path / "empty.jsonl", kb, format="jsonl")),
        ("no such knowledge base", lambda: add(corpus, tmp_path / "typo", progress=False)),
        ("not a knowledge base", lambda: compact(tmp_path)),
    ]
    for message, request in cases:
        with pytest.raises(AdmiralError, match=message):
            request()
    assert (kb / "manifest.json").read_bytes() == before
    assert not (kb / "segments").exists()
    assert not (tmp_path / ".typo.lock").exists()


def test_an_index_of_an_old_release_is_refused(birds, tmp_path):
    kb = tmp_path / "old"
    build(birds, kb, bm25="bm25s", progress=False)
    manifest = read_manifest(kb)
    (kb / "bm25" / "bm25.json").write_text('{"format": 1, "backend": "bm25s", "documents": 3}')
    (kb / "manifest.json").unlink()
    write_manifest(kb, manifest.counts, manifest.settings)
    with (
        KnowledgeBase.open(kb) as opened,
        pytest.raises(AdmiralError, match=r"another version.*Build the knowledge base again"),
    ):
        opened.search(["eggs"], 1)
    with pytest.raises(AdmiralError, match=r"another version.*Build the knowledge base again"):
        remove(["Bird"], kb, progress=False)


def test_titles_from_a_file(tmp_path):
    file = tmp_path / "titles.txt"
    file.write_bytes(b"\xef\xbb\xbfBird \r\n\n  \n\xc3\x89a\n")
    assert read_titles(file) == ["Bird", "Éa"]
    file.write_bytes(b"Bird\n\xff\n")
    with pytest.raises(RecordError, match=r"titles\.txt:2: not UTF-8 \(byte 1\)"):
        read_titles(file)
    file.write_bytes(b"\n")
    with pytest.raises(AdmiralError, match="no titles in it"):
        read_titles(file)
    with pytest.raises(AdmiralError, match="cannot be read"):
        read_titles(tmp_path / "none.txt")
