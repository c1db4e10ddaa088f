"""A knowledge base after changes equals one built from the remaining documents."""

import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.errors import AdmiralError, RecordError
from admiral.kb import KnowledgeBase, add, build, check, embed, info, read_titles, remove
from admiral.records import Document, Sentence
from tests.admiral.kb.fake_encoder import FakeEncoder, unit_vector

TITLES = ["Great tit", "Bird", "Seed", "tit", "Great Great tit", "a Bird", "zebra", "Éa", "日"]
NAMES = ["Big Bird", "Old Egg"]
QUERIES = ["seed", "birds lay eggs", "great tit seeds", "nothing here", "Éa"]

_words = st.sampled_from(["seed", "birds", "eggs", "lays", "great", "the", "tit", "running"])
_sentence = st.lists(_words, max_size=8).map(" ".join)
# Long documents are indexed as passages.
_long = st.lists(_sentence, min_size=2, max_size=3).map(lambda sentences: sentences * 25)


@st.composite
def documents_with_aliases(draw):
    title, sentences = draw(st.sampled_from(TITLES)), draw(st.lists(_sentence, max_size=3) | _long)
    names = draw(st.lists(st.sampled_from(NAMES), max_size=1))
    named = [f"{title}, also known as the {name}, is one." for name in names]
    return Document(title, (*named, *sentences))


_documents = st.lists(documents_with_aliases(), min_size=1, max_size=5)
_change = st.one_of(
    st.tuples(st.just("add"), _documents, st.sampled_from(["replace", "skip"])),
    st.tuples(st.just("remove"), st.lists(st.sampled_from(TITLES), min_size=1, max_size=4)),
)


def write(folder, documents):
    path = folder / "corpus.jsonl"
    records = ({"title": d.title, "sentences": d.sentences} for d in documents)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def language(trie, title):
    """Return the titles that each sequence of a trie spells."""
    titles_of, waiting = {}, [((), trie.root)]
    while waiting:
        ids, node = waiting.pop()
        if trie.ends(node):
            titles_of[ids] = sorted(map(title, trie.rows(node).tolist()))
        tokens, nodes = trie.children(node)
        pairs = zip(tokens.tolist(), nodes.tolist(), strict=True)
        waiting += [((*ids, token), child) for token, child in pairs]
    return titles_of


def view(kb, tokens):
    """Return everything that a reader can see, except row numbers."""
    encoder = FakeEncoder()
    documents = list(kb.documents())
    stored = kb.stored_vectors(encoder)
    sentences = [
        Sentence(d.title, n, text) for d in documents for n, text in enumerate(d.sentences)
    ]
    dense = kb.dense_index(encoder).search(["a bird"], 3) if sentences else []
    return {
        "documents": documents,
        "by row": [kb.document_at(row) for row in kb.rows().tolist()],
        "by title": {t: kb.document(t) for t in TITLES if kb.row(t) is not None},
        "titles by row": [kb.title(row) for row in kb.rows().tolist()],
        "completions": {p: [t for t, _ in kb.complete(p)] for p in ("", "Great", "B", "x")},
        "aliases": [kb.aliases_beginning(f"{name} flies") for name in NAMES],
        "common": kb.common_aliases(),
        "spelled": language(kb.title_trie(tokens), kb.title_index.title),
        "counts": (len(kb), kb.counts),
        "found": [
            [(hit.title, hit.score) for hit in hits] for hits in kb.search(QUERIES, len(TITLES))
        ],
        "vectors": stored.unit_vectors(sentences).tolist(),
        "nearest": [[(d.title, n, score) for d, n, score in each] for each in dense],
    }


def applied(change, corpus):
    documents = {document.title: document for document in corpus}
    if change[0] == "add":
        for document in change[1]:
            if change[2] == "replace":
                documents.pop(document.title, None)
            documents.setdefault(document.title, document)
    else:
        documents = {title: each for title, each in documents.items() if title not in change[1]}
    return list(documents.values())


def apply(change, kb):
    if change[0] == "add":
        add(write(kb.parent, change[1]), kb, on_duplicate=change[2], progress=False)
    else:
        remove(change[1], kb, ignore_missing=True, progress=False)
    embed(kb, FakeEncoder(), progress=False)


_unique = st.lists(documents_with_aliases(), min_size=1, max_size=5, unique_by=lambda d: d.title)


@settings(max_examples=settings().max_examples // 3)
@given(corpus=_unique, changes=st.lists(_change, max_size=4))
def test_changes_equal_a_new_build(corpus, changes, tokens):
    options = {"bm25": "bm25s", "progress": False, "encoder": FakeEncoder()}
    with TemporaryDirectory() as name, ExitStack() as stack:
        folder, earlier = Path(name), None
        build(write(folder, corpus), folder / "kb", **options)
        for number, change in enumerate(changes):
            expected = applied(change, corpus)
            if expected:
                apply(change, folder / "kb")
                corpus = expected
            else:
                with pytest.raises(AdmiralError, match="no document would be left"):
                    apply(change, folder / "kb")
            assert check(folder / "kb") == []
            fresh = folder / f"fresh{number}"
            build(write(folder, corpus), fresh, **options)
            with KnowledgeBase.open(fresh) as rebuilt:
                oracle = view(rebuilt, tokens)
            kb = stack.enter_context(KnowledgeBase.open(folder / "kb"))
            assert view(kb, tokens) == oracle
            if earlier is not None:  # a reader keeps its version
                assert view(earlier[0], tokens) == earlier[1]
            earlier = kb, oracle


@pytest.mark.parametrize("backend", ["lucene", "bm25s"])
def test_both_backends(backend, tmp_path):
    old = [Document("Bird", ("Birds lay eggs.",)), Document("Seed", ("A seed grows.",))]
    new = [Document("Nest", ("A nest holds eggs.",)), Document("Egg", ("An egg is laid.",))]
    build(write(tmp_path, old), tmp_path / "kb", bm25=backend, progress=False)
    build(write(tmp_path, old + new), tmp_path / "fresh", bm25=backend, progress=False)
    add(write(tmp_path, new), tmp_path / "kb", progress=False)
    with KnowledgeBase.open(tmp_path / "kb") as kb, KnowledgeBase.open(tmp_path / "fresh") as fresh:
        queries = ["eggs of birds", "nest egg"]
        assert kb.search(queries, 3) == fresh.search(queries, 3)
        remove(["Bird"], tmp_path / "kb", progress=False)
        assert not kb.current
        assert "Bird" in [hit.title for hit in kb.search(["eggs of birds"], 9)[0]]
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert kb.row("Bird") is None
        hits = kb.search(["eggs of birds"], 9)[0]
        assert {hit.title for hit in hits} == {"Nest", "Egg"}
        with pytest.raises(IndexError):
            kb.document_at(0)
    assert check(tmp_path / "kb") == []


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
    assert (report.path, report.documents) == (kb, 4)
    assert (report.added, report.replaced, report.skipped, report.bad) == (1, 1, 1, 1)
    report = add(corpus, kb, on_duplicate="skip", skip_bad=True, progress=False)
    assert (report.added, report.replaced, report.skipped, report.bad) == (0, 0, 3, 1)
    report = remove(["Nest", "Emu", "Nest", "Seed"], kb, ignore_missing=True, progress=False)
    assert (report.documents, report.removed, report.missing) == (2, 2, 1)
    facts = info(kb)
    assert (facts.commit, facts.counts) == (3, {"documents": 2, "sentences": 4, "links": 3})
    assert [s["name"] for s in facts.settings["sources"]] == ["birds.jsonl", "corpus.jsonl"]
    assert {each.name for each in (kb / "derived").iterdir()} == {"2", "3"}


def test_errors_change_nothing(kb, tmp_path, write_jsonl):
    with KnowledgeBase.open(kb) as opened:
        before = opened.digest
    nest = write_jsonl([{"title": "Nest", "text": "x"}])
    known = write_jsonl([{"title": "Nest", "text": "x"}, {"title": "Bird", "text": "x"}], "2.jsonl")
    twice = write_jsonl([{"title": "Nest", "text": "x"}, {"title": "Nest", "text": "y"}], "3.jsonl")
    (tmp_path / "empty.jsonl").write_text("")
    cases = [
        ("'Emu', nor 1 more of those named", lambda: remove(["Emu", "Bird", "Rook"], kb)),
        ("'Emu'. Titles are matched exactly", lambda: remove(["Emu"], kb)),
        ("no title given", lambda: remove([], kb)),
        ("no document would be left", lambda: remove(["Great tit", "Bird", "Seed"], kb)),
        ("on_duplicate='merge': unknown", lambda: add(nest, kb, on_duplicate="merge")),
        ("format='xml': unknown", lambda: add(nest, kb, format="xml")),
        ("no such file", lambda: add(tmp_path / "none.jsonl", kb, format="jsonl")),
        ("no documents in it", lambda: add(tmp_path / "empty.jsonl", kb, format="jsonl")),
        ("no such knowledge base", lambda: add(nest, tmp_path / "typo")),
        (r"2\.jsonl:2: field 'title': .*'Bird' is in the k", lambda: add(known, kb)),
        (r":2: .*'Nest' is taken by .*jsonl:1\. .*replace", lambda: add(twice, kb)),
    ]
    for message, request in cases:
        with pytest.raises(AdmiralError, match=message):
            request()
    with KnowledgeBase.open(kb) as opened:
        assert opened.digest == before
    assert not (tmp_path / "typo").exists()


def test_vectors_are_those_of_the_encoder(kb, write_jsonl):
    embed(kb, FakeEncoder(), progress=False)
    add(write_jsonl([{"title": "Nest", "sentences": ["A nest.", " "]}]), kb, progress=False)
    with (
        KnowledgeBase.open(kb) as opened,
        pytest.raises(AdmiralError, match="were added after the others were embedded"),
    ):
        opened.dense_index(FakeEncoder())
    encoder = FakeEncoder()
    assert embed(kb, encoder, progress=False) == 1
    assert encoder.texts == ["Nest: A nest."]
    with KnowledgeBase.open(kb) as opened:
        sentences = [
            Sentence("Nest", 0, "A nest."),
            Sentence("Nest", 0, "Another text."),
            Sentence("Nest", 7, "A nest."),
            Sentence("Bird", 1, "Most of them fly."),
            Sentence("Emu", 0, "None."),
        ]
        found = opened.stored_vectors(encoder).unit_vectors(sentences)
        assert found.any(axis=1).tolist() == [True, False, False, True, False]
        np.testing.assert_allclose(found[0], unit_vector("Nest: A nest."), atol=0.01)
        assert opened.stored_vectors(FakeEncoder("other")) is None
        with pytest.raises(AdmiralError, match="no vectors of other"):
            opened.dense_index(FakeEncoder("other"))
    assert embed(kb, FakeEncoder("other"), progress=False) == 4


def test_titles_from_a_file(tmp_path):
    file = tmp_path / "titles.txt"
    file.write_bytes(b"\xef\xbb\xbfBird \r\n\n  \n\xc3\x89a\n")
    assert read_titles(file) == ["Bird", "Éa"]
    for content, message in ((b"Bird\n\xff\n", r"txt:2: not UTF-8 \(byte 1\)"), (b"\n", "no titl")):
        file.write_bytes(content)
        with pytest.raises((RecordError, AdmiralError), match=message):
            read_titles(file)
    with pytest.raises(AdmiralError, match="cannot be read"):
        read_titles(tmp_path / "none.txt")
