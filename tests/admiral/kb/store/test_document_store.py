from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.kb.store import document_store as module
from admiral.kb.store.document_store import DocumentStore, DocumentWriter
from admiral.records import Document, Page

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@st.composite
def _document(draw):
    sentences = tuple(draw(st.lists(TEXT, max_size=4)))
    links = ()
    if sentences and draw(st.booleans()):
        links = tuple(tuple(draw(st.lists(TEXT, max_size=2))) for _ in sentences)
    document = Document(draw(TEXT), sentences, links)
    if draw(st.booleans()):
        return document
    sections = tuple(draw(TEXT) for _ in sentences)
    offsets = tuple(draw(st.integers(0, 2**26)) for _ in sentences)
    return replace(document, source=draw(TEXT), sections=sections, offsets=offsets)


def _write(directory, documents):
    with DocumentWriter(directory) as writer:
        assert [writer.append(d) for d in documents] == list(range(len(documents)))
    assert writer.counts["sentences"] == sum(len(d.sentences) for d in documents)
    assert writer.counts["links"] == sum(len(row) for d in documents for row in d.links)
    return DocumentStore(directory)


@given(st.lists(_document(), min_size=1, max_size=12), st.integers(1, 5), st.integers(1, 80))
def test_round_trip(documents, rows, size):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH_ROWS", rows)
        patch.setattr(module, "BATCH_BYTES", size)
        store = _write(Path(folder) / "d", documents)
        assert len(store) == len(documents)
        assert list(store) == documents
        assert list(store.titles()) == [d.title for d in documents]
        for row in reversed(range(len(documents))):
            assert store.document(row) == documents[row]
        assert np.diff(store.rows).max() <= rows
        store.close()


def test_many_batches_and_rows_out_of_range(tmp_path):
    documents = [Document(f"t{n}", (f"s{n}",)) for n in range(1000)]
    store = _write(tmp_path / "d", documents)
    assert store.batches == 4
    assert store.document(999) == documents[999]
    for row in (-1, 1000):
        with pytest.raises(IndexError):
            store.document(row)
    store.close()


def test_damage_is_an_error_and_never_a_crash(tmp_path):
    documents = [Document(f"t{n}", (f"sentence {n * n}", "x" * n)) for n in range(100)]
    _write(tmp_path / "d", documents).close()
    path = tmp_path / "d" / "documents.arrow"
    whole = path.read_bytes()
    errors = []
    for position in range(0, len(whole), len(whole) // 100):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        try:
            store = DocumentStore(tmp_path / "d")
            list(store)
            list(store.titles())
            store.close()
        except AdmiralError as error:
            errors.append(str(error))
    assert len(errors) > 15
    assert all("documents.arrow: damaged" in message for message in errors)


def test_origins_are_kept_apart(tmp_path):
    plain = [Document(f"t{n}", (f"s{n}",)) for n in range(300)]
    _write(tmp_path / "plain", plain).close()
    assert sorted(p.name for p in (tmp_path / "plain").iterdir()) == ["documents.arrow", "rows.npy"]
    last = Document("a", ("b", "c", "d"), (), "f.md", ("", "H", "H"), (0, 3, 6))
    store = _write(tmp_path / "d", [*plain, last])
    assert list(store) == [*plain, last]
    store.close()
    (tmp_path / "d" / "origins.arrow").write_bytes(b"damaged")
    with pytest.raises(AdmiralError, match="damaged"):
        DocumentStore(tmp_path / "d")
    # A knowledge base without the file, as other corpora make it, opens.
    (tmp_path / "d" / "origins.arrow").unlink()
    store = DocumentStore(tmp_path / "d")
    assert store.document(300) == Document("a", ("b", "c", "d"))
    store.close()


def test_ids_are_kept_apart(tmp_path):
    documents = [Document(f"t{n}", (f"s{n}",), id="" if n < 300 else f"d{n}") for n in range(302)]
    store = _write(tmp_path / "d", documents)
    assert list(store) == documents
    assert list(store.ids()) == [document.id for document in documents]
    assert set(store.sources()) == {""}
    store.close()
    (tmp_path / "d" / "ids.arrow").unlink()
    store = DocumentStore(tmp_path / "d")
    assert set(store.ids()) == {""}
    store.close()


def test_places_are_kept_apart(tmp_path):
    documents = [Document(f"t{n}", (f"s{n}",), file="/a.jsonl", line=n) for n in range(300)]
    store = _write(tmp_path / "d", documents)
    assert [(d.file, d.line) for d in store] == [("/a.jsonl", n) for n in range(300)]
    assert store.has(module.PLACES)
    assert not store.has(module.ORIGINS)
    store.close()
    # Knowledge bases of earlier releases do not have them.
    (tmp_path / "d" / "places.arrow").unlink()
    store = DocumentStore(tmp_path / "d")
    assert {(d.file, d.line) for d in store} == {("", 0)}
    store.close()


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_truncation_is_an_error(keep, tmp_path):
    _write(tmp_path / "d", [Document("t", ("s",))]).close()
    for name in ("documents.arrow", "rows.npy"):
        path = tmp_path / "d" / name
        whole = path.read_bytes()
        path.write_bytes(whole[: int(keep if keep >= 1 else keep * len(whole))])
        with pytest.raises(AdmiralError, match="damaged"):
            DocumentStore(tmp_path / "d")
        path.write_bytes(whole)


def test_pages_are_kept_apart(tmp_path):
    page = Page("https://x.example/", "A page", gaps=(" ", "\n\n", ""), passages=((0, 9), (5, 16)))
    documents = [
        Document("Other", ("No page.",)),
        Document("A page", ("One.", "Two.", "Three."), id="x.example", page=page),
        Document("Empty", (), page=Page("https://y.example/")),
    ]
    store = _write(tmp_path / "d", documents)
    assert list(store) == documents
    assert store.has(module.PAGES)
    text = store.document(1).text
    assert text == "One. Two.\n\nThree."
    assert store.document(1).parts == (text[:9], text[5:16])
    assert [text[start:][:3] for start in store.document(1).sentence_starts] == [
        "One",
        "Two",
        "Thr",
    ]
    assert store.document(2).text == ""
