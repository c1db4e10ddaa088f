"""The texts that BM25 indexes: whole documents, or passages of long ones."""

from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from admiral.kb import KnowledgeBase, build, info
from admiral.kb.store.index_building import (
    LONGEST_PASSAGE,
    LONGEST_WHOLE,
    index_texts,
    passage_starts,
)
from admiral.records import Document

_sections = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 80)), max_size=6).map(
    lambda runs: tuple(name for name, length in runs for _ in range(length))
)


@given(_sections, st.booleans())
def test_passages_are_runs_of_sentences_that_begin_with_sections(sections, with_sections):
    sentences = tuple(f"s{n}" for n in range(len(sections)))
    document = Document("D", sentences, sections=sections if with_sections else ())
    starts = passage_starts(document)
    bounds = [*starts, len(sentences)]
    assert starts[0] == 0
    assert (
        all(0 < end - start <= LONGEST_PASSAGE for start, end in pairwise(bounds)) or not sections
    )
    ends = 0
    for _, run in groupby(document.sections):
        first, ends = ends, ends + len(list(run))
        if ends - first <= LONGEST_PASSAGE:  # a section that fits is not split
            assert not any(first < start < ends for start in starts)


@given(_sections, st.booleans())
def test_no_sentence_is_lost(sections, passages):
    sentences = tuple(f"s{n}" for n in range(len(sections)))
    document = Document("D", sentences, sections=tuple(name.upper() for name in sections))
    ((row, title, text),) = index_texts([document], 7, passages=passages)
    assert (row, title) == (7, "D")
    if not passages or len(sentences) <= LONGEST_WHOLE:
        assert isinstance(text, str)
        assert text.split() == [*dict.fromkeys(document.sections), *sentences]
        return
    assert not isinstance(text, str)
    assert [start for start, _ in text] == passage_starts(document)
    for (start, passage), end in zip(text, [*passage_starts(document)[1:], None], strict=True):
        headings = dict.fromkeys(document.sections[start:end])
        assert passage.split() == [*headings, *sentences[start:end]]


def test_a_knowledge_base_of_long_documents_finds_their_passages(write_jsonl, tmp_path):
    filler = [f"Option {n} prints more output." for n in range(200)]
    author = "It was written by Daniel Stenberg."
    records = [
        {"title": "curl", "sentences": [*filler[:150], author, *filler[150:]]},
        {"title": "Daniel", "sentences": ["Daniel is a name.", "Others wrote about Daniel."]},
        {"title": "long", "sentences": filler},
    ]
    corpus = write_jsonl(records)
    query = "who has written curl, Daniel Stenberg?"
    results = {}
    for passages in (True, False):
        kb_path = tmp_path / f"kb-{passages}"
        build(corpus, kb_path, bm25="bm25s", passages=passages, progress=False)
        facts = info(kb_path)
        assert facts.settings["passages"] is passages
        assert facts.passages == (15 if passages else 0)
        with KnowledgeBase.open(kb_path) as kb:
            results[passages] = kb.search([query], 3)[0]
    assert results[True][0].title == "curl"
    assert results[True][0].score > results[False][0].score
