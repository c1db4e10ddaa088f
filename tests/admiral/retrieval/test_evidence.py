"""Of long documents, the sentences that share rare terms with the claim are read."""

import json
import math
import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb import KnowledgeBase, build
from admiral.kb.bm25 import BACKENDS
from admiral.kb.bm25.analysis import terms
from admiral.kb.knowledge_base import UnknownTitleError
from admiral.records import Document, Sentence
from admiral.retrieval.state import (
    PassageReader,
    SentenceSelection,
    best_first,
    boost_mentioned,
    choose_evidence,
    evidence_count,
    non_blank_sentences,
    reweighted,
    share_characters,
    with_scores,
    z_scores,
)

WHOLE = [(0, None)]
WEIGHTS = {"boat": 1.0, "red": 3.0, "curl": 0.1, "author": 2.0}

_sentence = st.lists(st.sampled_from(["boat", "red", "curl", "rain"]), max_size=5).map(" ".join)
_sentences = st.lists(_sentence, max_size=12).map(tuple)
_spans = st.lists(st.tuples(st.integers(0, 12), st.none() | st.integers(0, 12)), max_size=3)


def selection(document, spans=WHOLE, weights=WEIGHTS):
    return SentenceSelection(document, spans, weights, terms)


def test_rare_terms_count_more_than_many_common_ones():
    sentences = ("First.", "", "curl curls a boat.", "Red.", "Snow.", "The boat sank!")
    document = Document("D", sentences, ((),) * 6)
    chosen = selection(document)
    chosen.keep(2)
    assert chosen.document().sentences == ("", "", "curl curls a boat.", "Red.", "", "")
    chosen.keep(1)
    assert chosen.document().sentences == ("", "", "", "Red.", "", "")
    assert (chosen.document().title, chosen.document().links) == ("D", document.links)


def test_earlier_sentences_win_ties():
    chosen = selection(Document("D", ("Snow.", "A boat.", "Ice.", "A boat.")))
    chosen.keep(3)
    assert chosen.document().sentences == ("Snow.", "A boat.", "", "A boat.")


def test_headings_are_part_of_the_sentences_below_them():
    names = ("Options", "Options", "Authors")
    document = Document("curl", ("curl prints.", "Rain.", "Daniel Stenberg."), sections=names)
    chosen = selection(document)
    chosen.keep(1)
    assert chosen.document().sentences == ("", "", "Daniel Stenberg.")


def test_a_document_of_which_all_is_read_is_the_same():
    document = Document("D", ("a", "", "b"))
    chosen = selection(document, [(1, None), (0, 1)])
    chosen.keep(2, 100)
    assert chosen.document() is document


@given(_sentences, _spans, st.integers(1, 12), st.none() | st.integers(0, 40))
def test_the_best_sentences_of_the_passages_are_kept(sentences, spans, count, characters):
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
def test_selections_share_a_number_of_characters(lengths, limit):
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


AUTHOR = "It was written by Daniel Stenberg."
FILLER = [f"curl has the option {n}, which was written to print more of it." for n in range(5000)]
MANUAL = [*FILLER[:3000], AUTHOR, *FILLER[3000:]]
DOCUMENTS = [
    {"title": "curl", "sentences": MANUAL},
    {"title": "wget", "sentences": ["wget is a program.", "", "It was written by Hrvoje Nikšić."]},
    *({"title": f"page {n}", "sentences": [f"This page was written in {n}."]} for n in range(30)),
]
CLAIM = "The author of curl, which was written in C, is Daniel Stenberg."


@pytest.fixture(scope="module", params=(*BACKENDS, "whole", "none"))
def kb(request, tmp_path_factory):
    """Knowledge bases with passages, of whole documents, and without a BM25 index."""
    folder = tmp_path_factory.mktemp("long")
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS))
    backend = "bm25s" if request.param == "whole" else request.param
    passages = request.param != "whole"
    build(corpus, folder / "kb", bm25=backend, passages=passages, progress=False)
    with KnowledgeBase.open(folder / "kb") as opened:
        yield opened


def test_the_sentence_that_answers_a_claim_is_read(kb):
    ((curl, wget),) = PassageReader(kb, 64, 60_000).read([CLAIM], [[]], [["curl", "wget"]])
    assert len(curl.sentences) == len(MANUAL)
    assert curl.sentences[3000] == AUTHOR
    assert sum(map(bool, curl.sentences)) == 64
    assert wget == kb.document("wget")


def test_the_text_of_a_hop_is_bounded(kb):
    ((curl, wget),) = PassageReader(kb, 64, 500).read([CLAIM], [[]], [["curl", "wget"]])
    assert sum(map(len, curl.sentences)) <= 250
    assert curl.sentences[3000] == AUTHOR
    assert wget == kb.document("wget")
    ((alone,),) = PassageReader(kb, 64, 500).read([CLAIM], [[]], [["curl"]])
    assert 250 < sum(map(len, alone.sentences)) <= 500


def test_short_documents_are_read_as_a_whole(kb):
    titles = ["wget", "page 3", "page 4"]
    (read,) = PassageReader(kb, 64, 1).read([CLAIM], [[]], [titles])
    assert read == [kb.document(title) for title in titles]


def test_sentences_that_match_the_evidence_are_read_too(kb):
    evidence = [Sentence("wget", 2, "wget and option 4321 are alike.")]
    reader = PassageReader(kb, 3, 60_000)
    claim = "The author of wget knows Stenberg."
    without, with_evidence = (
        reader.read([claim], [chosen], [["curl"]])[0][0].sentences for chosen in ([], evidence)
    )
    assert without[3000] == with_evidence[3000] == AUTHOR
    assert not without[4322]
    assert with_evidence[4322] == FILLER[4321]


def test_a_batch_reads_what_single_claims_read(kb):
    reader = PassageReader(kb, 5, 2000)
    claims, titles = [CLAIM, "Page 7 was written."], [["curl", "page 7"], ["wget", "curl"]]
    batch = reader.read(claims, [[], []], titles)
    assert batch == [reader.read([c], [[]], [t])[0] for c, t in zip(claims, titles, strict=True)]


def test_a_claim_without_terms_reads_the_beginning(kb):
    ((curl,),) = PassageReader(kb, 3, 60_000).read(["?"], [[]], [["curl"]])
    assert [i for i, text in enumerate(curl.sentences) if text] == [0, 1, 2]


def test_an_unknown_title(kb):
    with pytest.raises(UnknownTitleError, match="no document has the title 'nothing'"):
        kb.best_passages("curl", ["nothing"], 2)


def test_best_passages_are_numbered_by_sentences(kb):
    (curl,), (wget,) = kb.best_passages(CLAIM, ["curl", "wget"], 1)
    assert wget == (0, None)
    start, end = curl
    assert start <= 3000 < (len(MANUAL) if end is None else end)
    if kb.settings["passages"] and kb.settings["bm25"] != "none":
        assert end is not None
        assert end - start <= 32
    else:
        assert curl == (0, None)


def test_rare_terms_have_a_high_inverse_document_frequency(kb):
    frequencies = kb.inverse_document_frequencies("Stenberg has written it, never seen")
    assert set(frequencies) == {"stenberg", "ha", "written", "never", "seen"}
    if kb.settings["bm25"] == "none":
        assert set(frequencies.values()) == {1.0}
    else:
        assert frequencies["never"] > frequencies["stenberg"] > frequencies["written"]


def test_blank_sentences_are_left_out_and_the_others_keep_their_indices():
    documents = [Document("b", ("x", " \n", "y")), Document("a", ("", "z"))]
    assert non_blank_sentences(documents) == [
        Sentence("b", 0, "x"),
        Sentence("b", 2, "y"),
        Sentence("a", 1, "z"),
    ]
    assert non_blank_sentences([]) == []


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.sampled_from([0.0, 1.0]))))
def test_sentences_are_sorted_by_score_title_and_index(rows):
    sentences = [Sentence(title, index, "x") for title, index, _ in rows]
    ranked = with_scores(sentences, [score for *_, score in rows])
    keys = [(-s.score, s.title, s.index) for s in ranked]
    assert keys == sorted((-score, title, index) for title, index, score in rows)
    assert best_first(reversed(ranked)) == ranked


@given(st.dictionaries(st.text(max_size=2), st.floats(-100, 100), max_size=8))
def test_z_scores_have_mean_0_and_deviation_1_unless_all_are_equal(scores):
    standardised = z_scores(scores)
    assert list(standardised) == list(scores)
    if not scores or statistics.pstdev(scores.values()) < 1e-3:
        return
    assert statistics.fmean(standardised.values()) == pytest.approx(0, abs=1e-6)
    assert statistics.pstdev(standardised.values()) == pytest.approx(1, abs=1e-6)


def test_equal_scores_have_z_scores_of_0():
    assert z_scores({"a": 3.0, "b": 3.0}) == {"a": 0.0, "b": 0.0}
    assert z_scores({}) == {}


def sentences(titles):
    """One sentence for each letter, best first."""
    return [Sentence(t, i, f"{t}{i}", -float(i)) for i, t in enumerate(titles)]


@given(st.text("abcd", max_size=12), st.integers(1, 6), st.integers(1, 4))
def test_the_best_sentences_within_the_limit_are_chosen(titles, count, per_document):
    scored = sentences(titles)
    chosen = choose_evidence(scored, count, per_document)
    assert len(chosen) == min(count, len(scored))
    assert [s.index for s in chosen] == sorted({s.index for s in chosen})
    within = [s for s in scored if titles[: s.index].count(s.title) < per_document]
    assert set(within[:count]) <= set(chosen)
    if len(within) >= count:
        assert max(Counter(s.title for s in chosen).values()) <= per_document


def test_sentences_of_mentioned_documents_gain_a_part_of_the_standard_deviation():
    scored = [
        Sentence(t, 0, t, score) for t, score in zip("abcd", (6.0, 5.5, 2.0, 2.0), strict=True)
    ]
    assert boost_mentioned(scored, []) == scored
    boosted = boost_mentioned(scored, ["b", "d", "unread"])
    assert [s.title for s in boosted] == ["b", "a", "d", "c"]
    assert boosted[0].score - 5.5 == boosted[2].score - 2.0 > 0.5
    # The scale and the zero of the scores do not matter.
    rescaled = [Sentence(s.title, 0, s.text, 100 * s.score - 7) for s in scored]
    assert [s.title for s in boost_mentioned(rescaled, ["b", "d"])] == ["b", "a", "d", "c"]


def test_equal_scores_have_no_deviation_to_gain():
    scored = [Sentence(t, 0, t, 1.0) for t in "ab"]
    assert boost_mentioned(scored, ["b"]) == scored
    assert boost_mentioned([], ["b"]) == []


SCORED = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(-50, 50).map(lambda n: n / 8)), max_size=9
).map(
    lambda pairs: [
        Sentence(title, at, title, score)
        for at, (title, score) in enumerate(sorted(pairs, key=lambda pair: -pair[1]))
    ]
)
RELEVANCE = st.fixed_dictionaries(dict.fromkeys("abcd", st.integers(-20, 20).map(float)))


@given(SCORED, RELEVANCE)
def test_sentences_gain_by_their_document_and_lose_by_better_sentences_of_it(scored, relevance):
    combined = reweighted(scored, relevance)
    assert sorted(s.index for s in combined) == list(range(len(scored)))
    assert [s.score for s in combined] == sorted((s.score for s in combined), reverse=True)
    tops = {s.title: s.score for s in reversed(scored)}
    deviation = (statistics.pstdev(tops.values()) if tops else 0.0) or 1.0
    values = [relevance[title] for title in tops]
    for sentence in combined:
        before = scored[sentence.index]
        z_score = (relevance[sentence.title] - statistics.fmean(values)) / (
            statistics.pstdev(values) or 1.0
        )
        better = sum(s.title == sentence.title for s in scored[: before.index])
        expected = before.score + deviation * (z_score - better)
        assert math.isclose(sentence.score, expected, abs_tol=1e-9)


@given(SCORED, RELEVANCE, st.sampled_from([0.25, 8.0]), st.sampled_from([-64.0, 16.0]))
def test_the_scale_does_not_change_the_order(scored, relevance, factor, shift):
    order = [s.index for s in reweighted(scored, relevance)]
    rescaled = [Sentence(s.title, s.index, s.text, s.score * factor) for s in scored]
    assert [s.index for s in reweighted(rescaled, relevance)] == order
    moved = {title: value * factor + shift for title, value in relevance.items()}
    values = {s.index: s.score for s in reweighted(scored, relevance)}
    for sentence in reweighted(scored, moved):
        assert math.isclose(sentence.score, values[sentence.index], abs_tol=1e-6)


@pytest.mark.parametrize(("words", "count"), [(0, 5), (8, 5), (9, 6), (11, 6), (12, 7), (40, 8)])
def test_long_claims_have_more_evidence(words: int, count: int) -> None:
    claim = " ".join(f"Aster{chr(97 + n // 10)}{chr(97 + n % 10)}" for n in range(words))
    assert evidence_count(claim, 5, 8) == count
    assert evidence_count(claim, 5, 3) == 5
