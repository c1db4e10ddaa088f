"""Sentences of corpora that are too long are split, and nothing of them is lost."""

from __future__ import annotations

import logging

from hypothesis import given
from hypothesis import strategies as st

from admiral.kb import KnowledgeBase, build
from admiral.kb.corpus.sentence_splitter import LONGEST_GIVEN_SENTENCE, split_long_sentences
from admiral.records import Document

_words = st.lists(st.sampled_from(["curl", "x" * 3000, "日本"]), min_size=1, max_size=9)
_sentences = st.lists(_words.map(" ".join), max_size=4).map(tuple)


@given(_sentences)
def test_parts_are_short_and_hold_all_text(sentences):
    numbers = tuple(range(len(sentences)))
    document = Document(
        "D",
        sentences,
        tuple((f"link {n}",) for n in numbers),
        "d.txt",
        tuple(f"section {n}" for n in numbers),
        tuple(100_000 * n for n in numbers),
    )
    changed, split = split_long_sentences(document)
    assert split == sum(len(s) > LONGEST_GIVEN_SENTENCE for s in sentences)
    assert all(len(s) <= LONGEST_GIVEN_SENTENCE for s in changed.sentences)
    assert "".join(changed.sentences).replace(" ", "") == "".join(sentences).replace(" ", "")
    assert [link for row in changed.links for link in row] == [f"link {n}" for n in numbers]
    origins = zip(changed.sentences, changed.sections, changed.offsets, strict=True)
    for text, section, offset in origins:
        number, start = divmod(offset, 100_000)
        assert section == f"section {number}"
        assert sentences[number][start : start + len(text)] == text


def test_split_sentences_are_counted_and_reported(write_jsonl, tmp_path, caplog):
    long = "word " * LONGEST_GIVEN_SENTENCE
    corpus = write_jsonl([{"title": "A", "sentences": ["Short.", long]}])
    with caplog.at_level(logging.WARNING):
        report = build(corpus, tmp_path / "kb", bm25="none", progress=False)
    assert report.split == 1
    assert "1 sentences of more than 10000 characters were split" in caplog.text
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        document = kb.document("A")
    assert document.sentences[0] == "Short."
    assert " ".join(document.sentences[1:]) == long.strip()
