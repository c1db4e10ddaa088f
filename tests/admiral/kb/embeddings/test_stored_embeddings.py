"""Stored sentence embeddings, compared with those that are computed from the documents."""

import json
import logging
import math
import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admiral.kb import KnowledgeBase, add, build, compact, embed, info, remove, verify
from admiral.kb.embeddings import dequantise, quantise
from admiral.kb.store import read_manifest, replace_manifest
from admiral.records import Document, Sentence
from admiral.storage.atomic_files import describe_file
from tests.admiral.kb.embeddings.fake_encoder import WIDTH, FakeEncoder, unit_vector
from tests.admiral.kb.versions.test_kb_updating import DOCUMENT, TITLES, applied, write

BIRD = Document("Bird", ("Birds lay eggs.", "", "Most fly."))
SEED, NEST = Document("Seed", ("A seed grows.",)), Document("Nest", ())


def expected_vectors(document):
    """Compute the vectors of a document's sentences one by one; zero for blank ones."""
    vectors = [
        unit_vector(f"{document.title}: {sentence}") * (1 if sentence.strip() else 0)
        for sentence in document.sentences
    ]
    return dequantise(quantise(np.array(vectors, np.float32).reshape(-1, WIDTH)))


def check_vectors(kb_path, documents, embedded):
    """Check the stored vectors of all sentences of a knowledge base."""
    with KnowledgeBase.open(kb_path) as kb:
        assert [document.title for document in kb.documents()] == [d.title for d in documents]
        stored = kb.stored_vectors(FakeEncoder())
        if stored is None:
            assert not any(d.sentences for d in documents if d.title in embedded)
            return
        sentences = [
            Sentence(document.title, index, text)
            for document in documents
            for index, text in enumerate(document.sentences)
        ]
        vectors = stored.unit_vectors(sentences)
    oracle = [
        expected_vectors(document) * (1 if document.title in embedded else 0)
        for document in documents
    ]
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, np.concatenate([np.empty((0, WIDTH)), *oracle]))


_unique = st.lists(DOCUMENT, min_size=1, max_size=5, unique_by=lambda d: d.title)
_change = st.one_of(
    st.tuples(st.just("add"), _unique, st.sampled_from(["replace", "skip"])),
    st.tuples(st.just("remove"), st.lists(st.sampled_from(TITLES), min_size=1, max_size=4)),
    st.tuples(st.just("compact")),
    st.tuples(st.just("embed")),
)


def check_changes(corpus, at_once, changes):
    with TemporaryDirectory() as name:
        kb = Path(name) / "kb"
        encoder = FakeEncoder() if at_once else None
        build(write(kb.parent, corpus), kb, bm25="none", encoder=encoder, progress=False)
        embedded = {document.title for document in corpus if at_once}
        for change in changes:
            documents = applied(change, corpus)
            if not documents:
                continue
            if change[0] == "add":
                path = write(kb.parent, change[1])
                add(path, kb, on_duplicate=change[2], progress=False)
                # A document that is replaced has no vectors, also if it is the same as before.
                new = {document.title for document in change[1]}
                known = {document.title for document in corpus}
                embedded -= new if change[2] == "replace" else new - known
            elif change[0] == "remove":
                remove(change[1], kb, ignore_missing=True, progress=False)
                embedded -= set(change[1])
            elif change[0] == "compact":
                compact(kb, progress=False)
            else:
                encoder = FakeEncoder()
                embed(kb, encoder, progress=False)
                missing = [d for d in documents if d.title not in embedded]
                assert Counter(encoder.texts) == Counter(
                    f"{d.title}: {s}" for d in missing for s in d.sentences if s.strip()
                )
                embedded = {document.title for document in documents}
            corpus = documents
            assert verify(kb) == []
            check_vectors(kb, corpus, embedded)


@settings(max_examples=settings().max_examples // 4)
@given(corpus=_unique, at_once=st.booleans(), changes=st.lists(_change, min_size=1, max_size=6))
def test_vectors_follow_their_sentences(corpus, at_once, changes):
    check_changes(corpus, at_once, changes)


def test_many_sentences_are_encoded_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("admiral.kb.embeddings._BATCH_SENTENCES", 3)
    sizes = []

    class Counting(FakeEncoder):
        def unit_vectors(self, texts):
            sizes.append(len(texts))
            return super().unit_vectors(texts)

    long = Document("Long", tuple(f"Sentence {n}." for n in range(7)))
    documents = [BIRD, NEST, long, SEED]
    corpus = write(tmp_path, documents)
    build(corpus, tmp_path / "kb", bm25="none", encoder=Counting(), progress=False)
    assert sizes == [2, 3, 3, 1, 1]
    check_vectors(tmp_path / "kb", documents, {d.title for d in documents})


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("embedded")
    kb = folder / "kb"
    build(write(folder, [BIRD, NEST]), kb, bm25="bm25s", encoder=FakeEncoder(), progress=False)
    add(write(folder, [SEED]), kb, progress=False)
    embed(kb, FakeEncoder(), progress=False)
    return kb


@pytest.fixture
def kb_path(embedded, tmp_path):
    return shutil.copytree(embedded, tmp_path / "kb")


def test_other_sentences_have_no_vectors(kb_path):
    with KnowledgeBase.open(kb_path) as kb:
        stored = kb.stored_vectors(FakeEncoder())
        assert stored is not None
        vectors = stored.unit_vectors(
            [
                Sentence("Bird", 0, "Birds lay eggs!"),
                Sentence("Bird", 9, "Birds lay eggs."),
                Sentence("Emu", 0, "Birds lay eggs."),
                Sentence("Bird", 0, "Birds lay eggs."),
            ]
        )
    assert vectors.any(axis=1).tolist() == [False, False, False, True]


def test_vectors_of_another_encoder_are_not_used_but_replaced(kb_path, caplog):
    with KnowledgeBase.open(kb_path) as kb:
        with caplog.at_level(logging.WARNING):
            assert kb.stored_vectors(FakeEncoder("other")) is None
        assert "those of another encoder (fake)" in caplog.text
        encoder = FakeEncoder("other")
        report = embed(kb_path, encoder, progress=False)
        assert (report.encoder, report.sentences, len(encoder.texts)) == ("other", 4, 3)
        # The open knowledge base is a snapshot, and keeps its files.
        stored = kb.stored_vectors(FakeEncoder())
        assert stored is not None
        assert stored.unit_vectors([Sentence("Seed", 0, "A seed grows.")]).any()
        assert verify(kb_path) == []
    assert info(kb_path).embedded == {"other": 4}
    compact(kb_path, progress=False)
    assert not (kb_path / "embeddings").exists()
    assert info(kb_path).embedded == {"other": 4}
    assert len(list(kb_path.glob("segments/*/embeddings/*"))) == 1
    assert verify(kb_path) == []


def _replace(kb_path, name, value):
    """Replace an array of the base's embeddings, with a manifest of the new checksum."""
    manifest = read_manifest(kb_path)
    folder = manifest.embeddings(".")
    if name.endswith(".json"):
        (kb_path / f"{folder}/{name}").write_text(json.dumps(value))
    else:
        np.save(kb_path / f"{folder}/{name}", np.asarray(value))
    files = {**manifest.files, f"{folder}/{name}": describe_file(kb_path / f"{folder}/{name}")}
    parts = manifest.base, manifest.delta
    replace_manifest(kb_path, manifest.counts, manifest.settings, files, *parts)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("checksums.npy", np.zeros(3, np.uint32), "row 0: its vectors are those of other sent"),
        ("starts.npy", np.array([0, 2, 3]), "row 0: its vectors are those of other sentences"),
        ("starts.npy", np.array([0, 9, 3]), "starts.npy: not ascending from 0 for 2 documents"),
        ("starts.npy", np.array([0, 3]), "its files do not hold the same documents"),
        ("starts.npy", np.array([0, 3, 4]), "damaged (its files do not fit together)"),
        ("vectors.npy", np.zeros((3, 9), np.int8), "damaged (its files do not fit together)"),
        ("vectors.npy", np.zeros((3, 8), np.int16), "damaged (its files do not fit together)"),
        ("encoder.json", {"version": 9}, "damaged (encoder.json has an unknown version)"),
        ("encoder.json", {}, "damaged ('version')"),
        ("encoder.json", [], "damaged ("),
    ],
)
def test_verify_finds_vectors_that_do_not_fit(kb_path, name, value, message):
    _replace(kb_path, name, value)
    (problem,) = verify(kb_path)
    assert message in problem


_component = st.floats(-1, 1, width=32).filter(lambda x: x == 0 or abs(x) > 1e-6)
_vectors = st.integers(1, 6).flatmap(
    lambda width: st.lists(st.lists(_component, min_size=width, max_size=width), min_size=1)
)


def rounded(vector):
    """Round one vector by its own scale."""
    largest = max(map(abs, vector))
    scaled = [np.float32(x) * np.float32(127) for x in vector]
    return [round(float(x / np.float32(largest))) if largest else 0 for x in scaled]


@given(_vectors)
def test_each_vector_has_its_own_scale(vectors):
    quantised = quantise(np.array(vectors, np.float32))
    assert quantised.dtype == np.int8
    assert quantised.tolist() == [rounded(vector) for vector in vectors]
    for vector, unit in zip(vectors, dequantise(quantised).tolist(), strict=True):
        length = math.hypot(*vector)
        if not length:
            assert not any(unit)
            continue
        assert math.hypot(*unit) == pytest.approx(1, abs=1e-5)
        # Rounding moves each component by at most half a step, the scale moves it as much again.
        bound = max(map(abs, vector)) / length / 127 * math.sqrt(len(vector))
        assert unit == pytest.approx([x / length for x in vector], abs=bound + 1e-5)
