"""Synthesized claims: hidden titles, evidence, seeds, resumption and other languages."""

import json
import os
import random
import re
import subprocess
import sys
import unicodedata
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb import KnowledgeBase, demo_kb
from admiral.records import Document
from admiral.retrieval.first_stage import base_title
from proofs.logic.words import clause_ends, join_parts, strip_parentheses
from tests.training.synthesis.in_memory_documents import DOCUMENTS, InMemoryDocuments
from training.synthesis import Falsifier, Synthesizer
from training.synthesis.profiles import ParsedCorpus, find_slots, parse_profile
from training.synthesis.true_claims import leaked_words

ROOT = Path(__file__).parents[3]

# Words of titles that say nothing by themselves.
_FREE = set(
    re.findall(
        r"\w+",
        "a an and as at by de del di du for from in is it la le los no of on or the to van von "
        "with",
    )
)


def words(text):
    """Return the words of a text in small letters, without accents."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return set(re.findall(r"\w+", plain.casefold()))


def leaked(record):
    """Return the words of hidden titles that a claim's record shows in the claim.

    What stands in the parenthesis of a title is no name; words of titles that are named count as
    named.
    """
    hidden = set(record["described"])
    named = {title for title, _ in record["supporting_facts"]} - hidden
    allowed = _FREE.union(*(words(title) for title in named))
    names = set().union(*(words(re.sub(r"\s*\([^()]*\)$", "", title) or title) for title in hidden))
    return words(record["claim"]) & (names - allowed)


def written(documents=DOCUMENTS, count=500, **chosen):
    return list(islice(Synthesizer(InMemoryDocuments(documents), **chosen).claims(), count))


def check(claims, documents):
    """Check the invariants of synthesized claims."""
    corpus = {d.title: d for d in documents}
    assert len({c.text for c in claims}) == len(claims) == len({c.id for c in claims})
    for claim in claims:
        record = claim.to_json()
        assert leaked(record) == set(), claim.text
        titles = list(dict.fromkeys(title for title, _ in record["supporting_facts"]))
        assert 2 <= len(titles) == record["num_hops"] <= 4
        assert all(0 <= i < len(corpus[t].sentences) for t, i in record["supporting_facts"])
        assert set(record["described"]) <= set(titles)
        assert (
            (record["label"] == "REFUTED") == claim.refuted == (claim.text != claim.true_claim.text)
        )
        assert claim.text[0] == claim.text[0].upper()
        assert claim.text[-1] in ".?!"
        assert "  " not in claim.text
        assert all(part in claim.true_claim.text or part[:1].isupper() or
                   part[:1].upper() + part[1:] in claim.true_claim.text
                   for part in record["described"].values())  # fmt: skip


def test_claims_over_a_small_knowledge_base():
    claims = written()
    assert len(claims) > 60
    check(claims, DOCUMENTS)
    assert {len(c.true_claim.titles) for c in claims} == {2, 3, 4}
    assert {c.refuted for c in claims} == {True, False}
    texts = {c.true_claim.text for c in claims}
    assert any("directed by a Welsh film director and painter" in text for text in texts)
    assert any("a Canadian actress who won the Gull Prize" in text for text in texts)
    assert any(text.endswith("was born in the small harbour village that lies near the slate "
                             "quarries.") for text in texts)  # fmt: skip
    assert not any("List of films" in c.true_claim.titles for c in claims)


def test_documents_lead_to_each_other():
    corpus = {d.title: " ".join(d.sentences) for d in DOCUMENTS}
    for claim in written():
        for place, title in enumerate(claim.true_claim.titles[1:], start=1):
            before = [corpus[t] for t in claim.true_claim.titles[:place]]
            assert any(title in text for text in before)


def test_demo_claims_keep_the_invariants(user_cache):
    with KnowledgeBase.open(demo_kb("bm25s")) as kb:
        claims = list(islice(Synthesizer(kb, seed=2).claims(), 800))
        check(claims, [kb.document_at(row) for row in range(len(kb))])
        for claim in claims:
            for title, index in claim.true_claim.evidence:
                assert kb.document(title).sentences[index]


NAMES = ["Ola Finn", "Bex", "The Mill", "Rosa Lee", "Finn Bay", "Bay (river)", "NBC", "N. B. Cole"]
NOUNS = ["Welsh painter", "film of 1988", "small river in Wales", "painter and poet", "NBC show"]


@st.composite
def corpora(draw):
    """Documents that name and define each other, with titles that are easy to leak."""
    name = st.sampled_from(NAMES)
    documents = []
    for title in draw(st.lists(name, min_size=2, unique=True)):
        base = base_title(title)
        other = st.builds(base_title, name)
        sentence = st.one_of(
            st.builds("It was drawn by {} in 1988.".format, other),
            st.builds(f"{base} stars {{}} and {{}}, an old friend.".format, other, other),
            st.builds("He was born near {} (in 1901).".format, other),
            st.builds(f"{base} saw {{}}'s film, and it won.".format, other),
            st.text(max_size=30),
        )
        first = draw(st.sampled_from(NOUNS))
        extra = draw(st.sampled_from(["", f" born in {draw(other)}", " that won a prize in 1970"]))
        opening = draw(st.sampled_from([f"{base} is a {first}{extra}.", ""]))
        documents.append(Document(title, (opening, *draw(st.lists(sentence, max_size=4)))))
    return documents


@given(corpora(), st.integers(0, 3))
def test_no_claim_leaks_a_hidden_title(documents, seed):
    check(written(documents, 60, seed=seed), documents)


@given(st.lists(st.lists(st.text(max_size=40), max_size=4), min_size=1, max_size=4))
def test_documents_with_any_text(texts):
    documents = [Document(f"Title {n}", tuple(one)) for n, one in enumerate(texts)]
    check(written(documents, 20), documents)


def test_same_seed_gives_the_same_claims_in_every_process():
    script = (
        "from tests.training.synthesis.test_synthesizer import written\n"
        "import json; print(json.dumps([c.to_json() for c in written(seed=5)]))"
    )
    other = "0" if os.environ.get("PYTHONHASHSEED") != "0" else "1"
    env = {**os.environ, "PYTHONHASHSEED": other, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [c.to_json() for c in written(seed=5)]
    assert [c.text for c in written(seed=6)] != [c.text for c in written(seed=5)]


def test_no_claims_without_mentions_of_other_documents():
    alone = [Document("Ada Brook", ("Ada Brook is a Welsh painter.",)), Document("Empty", ())]
    synthesizer = Synthesizer(InMemoryDocuments(alone))
    assert list(synthesizer.claims()) == []
    assert synthesizer.n_mentioning == 0
    assert list(Synthesizer(InMemoryDocuments([])).claims()) == []


@pytest.mark.parametrize(
    ("claim", "hidden", "named", "found"),
    [
        ("Meyers was the host.", "Seth Meyers", "", ["meyers"]),
        ("The Meyerses met Seth's friend.", "Seth Meyers", "", ["seth"]),
        ("The 66th Awards were hosted.", "65th Awards", "66th Awards", []),
        ("It was shown by NBC.", "National Broadcasting Company", "", ["nbc"]),
        ("He was born in São Paulo.", "Sao Paulo", "", ["sao", "paulo"]),
        ("A film of 1984.", "Dune (1984 film)", "", []),
        ("Bergens Tidende of Bergen.", "Bergen", "Bergens Tidende", ["bergen"]),
        ("The king of the hill.", "The Lord of the Ring", "", []),
        ("Watch youtube.", "You Tube", "", ["youtube"]),
    ],
)
def test_leaked_words_of_a_hidden_title(claim, hidden, named, found):
    assert leaked_words(claim, hidden, named) == found


CORPUS = ParsedCorpus(InMemoryDocuments())
FALSIFIER = Falsifier(CORPUS, [CORPUS.profile_at(row) for row in range(len(CORPUS))])


def changes(text, tries=60):
    """Return (old, new) for the words that false versions change."""
    found = set()
    for seed in range(tries):
        false = FALSIFIER.falsify(text, "Ada Brook", [], random.Random(seed))
        if false is None:
            continue
        old, new = text.split(), false.split()
        for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                found.add((" ".join(old[a:b]), " ".join(new[c:d])))
    return found


def test_values_of_each_type_are_replaced():
    pairs = changes("It was an old film shot first on 3 May 1988 by 211 Welsh poets.")
    old = {before for before, _ in pairs}
    assert {"film", "first", "May", "1988", "211", "Welsh"} <= old
    assert ("first", "last") in pairs
    for before, after in pairs:
        if before == "1988":
            assert 1976 <= int(after) <= 2000
            assert after != "1988"


@pytest.mark.parametrize(
    "sentence",
    [
        "This is another film.",
        "Its director won a prize.",
        "It may refer to a film.",
        "It is possible that Ada Brook made it.",
        "It was made by him.",
        'It was called "Half.',
    ],
)
def test_dependent_sentences_are_not_statements(sentence):
    document = Document("Lantern Night", ("Lantern Night is a film.", sentence))
    assert [s.index for s in parse_profile(document).statements] == [0]


@pytest.mark.parametrize(
    ("predicate", "found"),
    [
        ("was directed by Ada Brook", ["Ada Brook"]),
        ("stars the actor Ivor Pryce and Mona Reed", ["the actor Ivor Pryce", "Mona Reed"]),
        ("won the Gull Prize in 1990", ["the Gull Prize"]),
        ('is based on the 1988 film "Lantern Night"', ['the 1988 film "Lantern Night"']),
        ("lived in the village of Porthgain", []),  # village and name denote the same thing
        ("was directed by Ada Brook's son", []),
        ("is the Porthgain festival", []),
        ("was known as Ada Brook", []),
        ("works for Smith and Porthgain", []),
        ("was shot in Porthgain and Rome", []),
        ("met Porthgain Ada Brook", []),
    ],
)  # fmt: skip
def test_replaceable_mentions(predicate, found):
    slots = find_slots(InMemoryDocuments(), Document("Other", ()), 0, predicate)
    assert [predicate[slot.start : slot.end] for slot in slots] == found


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        (
            "an American comedian, writer and host who was born in Evanston",
            [
                "an American comedian",
                "an American comedian, writer and host",
                "an American comedian, writer and host who was born in Evanston",
            ],
        ),
        ("a film directed by Ada Brook", ["a film", "a film directed by Ada Brook"]),
        ("was released in 1990", ["was released in 1990"]),  # not "was released"
        (
            "won on April 3, 1990, in Rome",
            ["won on April 3, 1990", "won on April 3, 1990, in Rome"],
        ),
        ('sang "Go, in, on" twice', ['sang "Go, in, on" twice']),
        (
            "led the town and founded a school",
            ["led the town", "led the town and founded a school"],
        ),
        ("a state that, with", ["a state"]),
        ("", []),
    ],
)
def test_clause_ends(text, pieces):
    assert [text[:end] for end in clause_ends(text)] == pieces


@given(st.text(max_size=200))
def test_clause_functions_accept_any_text(text):
    plain = strip_parentheses(text)
    ends = list(clause_ends(plain))
    assert ends == sorted(set(ends))
    assert all(0 < end <= len(plain) for end in ends)
    assert join_parts(join_parts(plain, plain)) == join_parts(plain, plain)
