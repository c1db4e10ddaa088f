"""The sentences that match a query best."""

from __future__ import annotations

from admiral.kb.matching_sentences import best_sentences
from admiral.records import Document


def test_rare_words_count_more_and_the_first_of_equals_wins():
    documents = [
        Document("A", ("the common common", "common rare", "rare common")),
        Document("B", ("common", "common")),
        Document("C", ("else",)),
        Document("D", ()),
    ]
    best = best_sentences("common rare", documents)
    assert [sentence and sentence.index for sentence in best] == [1, 0, 0, None]
