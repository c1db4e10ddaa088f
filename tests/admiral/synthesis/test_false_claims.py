"""False versions of claims: one value replaced by another of the same type."""

import random
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.synthesis.false_claims import Falsifier
from admiral.synthesis.parsed_documents import ParsedCorpus
from tests.admiral.synthesis.in_memory_documents import DOCUMENTS, InMemoryDocuments

CORPUS = ParsedCorpus(InMemoryDocuments())
FALSIFIER = Falsifier(CORPUS, [CORPUS.profile_at(row) for row in range(len(CORPUS))])


def changes(text, named, gold, tries=60):
    """Return (old, new) for the words that false versions change."""
    found = set()
    documents = [d for d in DOCUMENTS if d.title in gold]
    for seed in range(tries):
        false = FALSIFIER.falsify(text, named, documents, random.Random(seed))
        if false is None:
            continue
        old, new = text.split(), false.split()
        for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                found.add((" ".join(old[a:b]), " ".join(new[c:d])))
    return found


def test_values_of_each_type_are_replaced():
    pairs = changes("It was an old film shot first on 3 May 1988 by 211 Welsh poets.", [], [])
    old = {before for before, _ in pairs}
    assert {"film", "first", "May", "1988", "211", "Welsh"} <= old
    assert ("first", "last") in pairs
    for before, after in pairs:
        if before == "1988":
            assert 1976 <= int(after) <= 2000
            assert after != "1988"


def test_articles_agree_with_the_new_value():
    pairs = changes("She is an opera singer.", [], [])
    assert ("an opera", "a film") in pairs


def test_names_are_replaced_by_names_of_the_same_kind():
    pairs = changes("It was shot by Ivor Pryce.", [], ["Lantern Night"])
    assert pairs <= {("Ivor Pryce.", "Mona Reed."), ("Ivor Pryce.", "Ada Brook.")}
    # Titles that the claim names are not replaced.
    assert changes("It was shot by Ivor Pryce.", ["Ivor Pryce"], ["Lantern Night"]) == set()


def test_values_of_the_gold_documents_are_not_used():
    for before, after in changes("It won in 1989.", [], ["Lantern Night"], tries=300):
        assert before != "1989." or after not in {"1988.", "1987."}


@pytest.mark.parametrize("text", ["", "Nothing to swap here.", "A-1988 and 3.5% of it"])
def test_no_false_version_without_a_value(text):
    assert changes(text, [], []) == set()


@given(st.text(max_size=80), st.integers(0, 5))
def test_falsifier_accepts_any_text(text, seed):
    false = FALSIFIER.falsify(text, [], DOCUMENTS, random.Random(seed))
    assert false is None or false != text
