"""Features of a claim with its evidence: wording, links of documents, and counts by hand."""

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from proofs import default_lexicon
from proofs.drafting.drafts import draft_steps
from proofs.judges.claim_features import (
    CLAIM_FEATURES,
    ClaimWording,
    DocumentLinks,
    WordCoverage,
    claim_features,
)
from proofs.logic.words import split_words
from tests.proofs.hostile_texts import claims, evidence

CLAIM = "The builder of Port Merrow Lighthouse and Ada Quill were both engineers."
TOWER = ("Port Merrow Lighthouse (Ireland)", "Joan Firth built it in a year.")
JOAN = ("Joan Firth", "Joan Firth was an engineer who built Port Merrow Lighthouse.")
ADA = ("Ada Quill", "Ada Quill was one of the first engineers.")
RAIN = ("Rain", "The builder of clouds.")

words = st.sampled_from(["ada", "quill", "cork", "rain", "the"])


def features(claim, texts):
    steps = draft_steps(claim, texts, default_lexicon())
    values = claim_features(claim, texts, DocumentLinks.find(claim, texts), steps)
    return dict(zip(CLAIM_FEATURES, values, strict=True))


def test_features_can_be_counted_by_hand():
    values = features(CLAIM, [TOWER, JOAN, ADA, RAIN])
    assert (values["words"], values["sharing"], values["definite"]) == (1.2, 2, 1)
    assert (values["proper_names"], values["untitled"]) == (2, 0)
    assert (values["documents"], values["named"]) == (4, 2)
    # The lighthouse follows "of", and names Joan Firth.
    assert (values["described"], values["described_alone"], values["described_open"]) == (1, 0, 0)
    assert (values["links"], values["mutual"], values["linked"], values["largest"]) == (1, 1, 2, 2)
    assert (values["between_named"], values["between_unnamed"]) == (0, 0)
    assert (values["reached"], values["alone"], values["linked_unnamed"]) == (3, 1, 1)
    assert (values["bridges"], values["led"], values["leading"], values["sentences"]) == (
        1,
        1,
        1,
        3,
    )
    # Only Rain has "builder"; no document has "were", but stop words do not count.
    assert (values["uncovered"], values["uncovered_by_linked"], values["stray"]) == (0, 1, 1)


def test_each_feature_has_its_own_name():
    """The values of most features differ, so that no two can be swapped."""
    claim = (
        "Who built Cork Bridge before Ada Quill, Ida Penn and Joan Firth, whose mills that other "
        "town sold, came? The bridge and the old mill are in Lund."
    )
    texts = [
        ("Cork Bridge", "Ada Quill and Tom Reed drew it, not Eve Lamb."),
        ("Ada Quill", "Ada Quill drew Cork Bridge."),
        ("Tom Reed", "Tom Reed knew Eve Lamb and sold tiles."),
        ("Eve Lamb", "Eve Lamb knew Tom Reed."),
        ("Ida Penn", "She came late."),
        ("Rain", "A town of old mills."),
        ("Rain", "Water."),
    ]
    assert features(claim, texts) == {
        "words": 2.8, "steps": 10, "sharing": 2, "setting_apart": 2, "relative": 3, "definite": 2,
        "stops": 2, "proper_names": 5, "untitled": 2,
        "documents": 6, "named": 3, "described": 0, "described_alone": 0, "described_open": 0,
        "links": 4, "mutual": 2, "between_named": 1, "between_unnamed": 1, "linked": 4,
        "reached": 5, "largest": 4, "alone": 1, "linked_unnamed": 2, "bridges": 2, "led": 0,
        "leading": 1, "sentences": 5,
        "weakest": 0, "second": 0, "uncovered": 5, "uncovered_by_linked": 8,
        "largest_share": 5 / 17, "contributing": 3, "stray": 3,
    }  # fmt: skip


def test_missing_document_changes_link_features():
    values = features(CLAIM, [TOWER, ADA, RAIN])
    assert (values["described"], values["described_alone"], values["described_open"]) == (1, 1, 1)
    assert (values["links"], values["leading"], values["led"], values["alone"]) == (0, 0, 0, 2)
    assert features(CLAIM, [RAIN])["untitled"] == 2


@given(claims.filter(str.split), evidence)
def test_features_of_hostile_texts_are_consistent(claim, texts):
    values = features(claim, texts)
    assert values["reached"] <= values["documents"]
    assert values["bridges"] <= values["linked_unnamed"]
    assert values["described_alone"] <= values["described_open"] <= values["described"]
    assert values["described"] <= values["named"] <= values["documents"]
    assert 0 <= values["largest_share"] <= 1
    assert values["uncovered"] <= values["uncovered_by_linked"]


@given(
    st.lists(words).map(" ".join), st.lists(st.lists(words), max_size=4), st.sets(st.integers(0, 3))
)
def test_word_coverage_equals_brute_force(claim, documents, chosen):
    coverage = WordCoverage.find(claim, documents)
    norms = [word.norm for word in split_words(claim) if word.is_content]
    holders = [[at for at, words in enumerate(documents) if norm in words] for norm in norms]
    assert coverage.missing(chosen) == sum(not set(places) & chosen for places in holders)
    assert coverage.exclusive() == {
        at: count for at in range(len(documents)) if (count := holders.count([at]))
    }
    counts = [sum(at in places for places in holders) for at in range(len(documents))]
    assert coverage.largest_share == (max(counts, default=0) / len(norms) if norms else 0)


def test_counts_of_an_example():
    wording = ClaimWording.count(
        "The director of The Hurt Locker, who was born in California, is not the older sister of "
        "Ada Quill. Both also acted."
    )
    assert (wording.sharing, wording.contrast, wording.relative) == (2, 2, 1)
    assert (wording.definite, wording.sentences) == (2, 2)
    assert wording.names == (("hurt", "locker"), ("california",), ("ada", "quill"))


def test_names_continue_over_connectors_and_end_with_the_sentence():
    assert ClaimWording.count("He saw the Bay of Bengal. Ada sang.").names == (
        ("bay", "of", "bengal"),
        ("ada",),
    )
    assert ClaimWording.count("In 1990 the Bank of").names == (("bank",),)
    assert ClaimWording.count("").names == ()
    assert ClaimWording.count("and 1990").names == ()


@given(claims)
def test_names_occur_in_the_claim(claim):
    wording = ClaimWording.count(claim)
    norms = [word.norm for word in split_words(claim) if word.norm]
    for name in wording.names:
        starts = range(len(norms) - len(name) + 1)
        assert any(tuple(norms[at : at + len(name)]) == name for at in starts)
    assert wording.relative == len(
        [norm for norm in norms if re.fullmatch("who|whose|which|that|where", norm)]
    )


BRIDGE = ("Port Merrow Lighthouse (Ireland)", "It was built by Ada Quill.")
PERSON = ("Ada Quill", "An engineer from Cork.")
CITY = ("Cork", "A city in Ireland.")
OTHER = ("Corkscrew", "A tool.")
LINKED_CLAIM = "Port Merrow Lighthouse was built by an engineer from Cork."


def test_links_form_a_chain_from_the_claim():
    links = DocumentLinks.find(
        LINKED_CLAIM, [BRIDGE, PERSON, CITY, OTHER, (BRIDGE[0], "It is white.")]
    )
    assert links.titles == tuple(title for title, _ in (BRIDGE, PERSON, CITY, OTHER))
    assert links.named == (True, False, True, False)
    assert [sorted(n) for n in links.neighbours] == [[1], [0, 2], [1], []]
    assert [sorted(n) for n in links.naming] == [[1], [2], [], []]
    assert links.largest == 3
    assert links.relevant == links.reached == {0, 1, 2}
    broken = DocumentLinks.find("Ada built it.", [BRIDGE, CITY])
    assert broken.naming == (frozenset(),) * 2
    assert broken.reached == frozenset()
    assert broken.largest == 1
    assert DocumentLinks.find(LINKED_CLAIM, []).largest == 0


titles = st.lists(st.sampled_from(["Ada", "Quill", "Cork", "of", "(x)"]), max_size=4).map(" ".join)


@given(titles, st.lists(st.tuples(titles, titles), max_size=5))
def test_components_equal_transitive_closure(claim, texts):
    links = DocumentLinks.find(claim, texts)
    count = len(links.titles)
    linked = {(a, b) for a in range(count) for b in links.neighbours[a]}
    assert all((b, a) in linked and a != b for a, b in linked)
    for _ in range(count):
        linked |= {(a, d) for (a, b), (c, d) in itertools.product(linked, linked) if b == c}
    named = {at for at in range(count) if links.named[at]}
    assert links.reached == named | {b for a, b in linked if a in named}
    sizes = [len({b for a, b in linked if a == at} | {at}) for at in range(count)]
    assert links.largest == max(sizes, default=0)


@given(claims, evidence)
def test_links_of_hostile_texts_are_consistent(claim, texts):
    links = DocumentLinks.find(claim, texts)
    assert links.reached <= links.relevant <= set(range(len(links.titles)))
