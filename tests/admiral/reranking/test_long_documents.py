"""Of long documents, the sentences that share rare terms with the claim are read."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.bm25.analysis import terms
from admiral.records import Document
from admiral.reranking.long_documents import SentenceSelection, Span, share_characters

WHOLE: list[Span] = [(0, None)]
WEIGHTS = {"boat": 1.0, "red": 3.0, "curl": 0.1, "author": 2.0}

_sentence = st.lists(st.sampled_from(["boat", "red", "curl", "rain"]), max_size=5).map(" ".join)
_sentences = st.lists(_sentence, max_size=12).map(tuple)
_spans = st.lists(st.tuples(st.integers(0, 12), st.none() | st.integers(0, 12)), max_size=3)


def selection(
    document: Document, spans: list[Span] = WHOLE, weights: Mapping[str, float] = WEIGHTS
) -> SentenceSelection:
    return SentenceSelection(document, spans, weights, terms)


def test_rare_terms_count_more_than_many_common_ones() -> None:
    sentences = ("First.", "", "curl curls a boat.", "Red.", "Snow.", "The boat sank!")
    document = Document("D", sentences, ((),) * 6)
    chosen = selection(document)
    chosen.keep(2)
    assert chosen.document().sentences == ("", "", "curl curls a boat.", "Red.", "", "")
    chosen.keep(1)
    assert chosen.document().sentences == ("", "", "", "Red.", "", "")
    assert (chosen.document().title, chosen.document().links) == ("D", document.links)


def test_earlier_sentences_win_ties() -> None:
    chosen = selection(Document("D", ("Snow.", "A boat.", "Ice.", "A boat.")))
    chosen.keep(3)
    assert chosen.document().sentences == ("Snow.", "A boat.", "", "A boat.")


def test_headings_are_part_of_the_sentences_below_them() -> None:
    names = ("Options", "Options", "Authors")
    document = Document("curl", ("curl prints.", "Rain.", "Daniel Stenberg."), sections=names)
    chosen = selection(document)
    chosen.keep(1)
    assert chosen.document().sentences == ("", "", "Daniel Stenberg.")


def test_a_document_of_which_all_is_read_is_the_same() -> None:
    document = Document("D", ("a", "", "b"))
    chosen = selection(document, [(1, None), (0, 1)])
    chosen.keep(2, 100)
    assert chosen.document() is document


@given(_sentences, _spans, st.integers(1, 12), st.none() | st.integers(0, 40))
def test_the_best_sentences_of_the_passages_are_kept(
    sentences: tuple[str, ...], spans: list[Span], count: int, characters: int | None
) -> None:
    chosen = selection(Document("D", sentences), spans)
    inside = {i for start, end in spans for i in range(len(sentences))[start:end]}
    candidates = [i for i in sorted(inside) if sentences[i].strip()]
    size = sum(len(sentences[i]) for i in candidates)
    assert (len(chosen), chosen.characters) == (len(candidates), size)
    chosen.keep(count, characters)
    read = chosen.document().sentences
    kept = [i for i, text in enumerate(read) if text.strip()]
    assert all(text in ("", sentences[i]) for i, text in enumerate(read))
    assert set(kept) <= set(candidates)
    assert len(kept) <= count
    assert bool(kept) == bool(candidates)
    if characters is not None and len(kept) > 1:
        assert sum(len(sentences[i]) for i in kept) <= characters
    if len(candidates) <= count and (characters is None or size <= characters):
        assert kept == candidates
    best = {i: max((WEIGHTS.get(t, 0) for t in terms(sentences[i])), default=0) for i in candidates}
    if len(candidates) > count and characters is None and max(best.values()) == 0:
        assert kept == candidates[:count]


@given(st.lists(st.lists(st.integers(1, 9), max_size=6), max_size=6), st.integers(1, 120))
def test_selections_share_a_number_of_characters(lengths: list[list[int]], limit: int) -> None:
    documents = [Document("D", tuple("x" * n for n in own)) for own in lengths]
    selections = [selection(document) for document in documents]
    share_characters(selections, limit)
    sizes = [chosen.characters for chosen in selections]
    kept = [len(chosen) for chosen in selections]
    if sum(map(sum, lengths)) <= limit:
        assert [s.document() for s in selections] == documents
    else:
        assert sum(size for size, count in zip(sizes, kept, strict=True) if count > 1) <= limit
        shares = [limit // len(lengths)] * len(lengths)
        for own, size, share in zip(lengths, sizes, shares, strict=True):
            assert size == sum(own) or size <= max(share, max(own, default=0)) or sum(own) > share
            assert size == sum(own) if sum(own) <= share else size > 0


def test_short_selections_leave_their_share_to_long_ones() -> None:
    documents = [Document("short", ("x",)), Document("long", ("x",) * 50)]
    selections = [selection(document) for document in documents]
    share_characters(selections, 40)
    assert [chosen.characters for chosen in selections] == [1, 39]
