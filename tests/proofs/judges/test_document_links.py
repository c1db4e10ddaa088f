"""Links between documents, compared with a brute-force search."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from proofs.judges.document_links import DocumentLinks
from tests.proofs.hostile_texts import claims, evidence

BRIDGE = ("Port Merrow Lighthouse (Ireland)", "It was built by Ada Quill.")
PERSON = ("Ada Quill", "An engineer from Cork.")
CITY = ("Cork", "A city in Ireland.")
OTHER = ("Corkscrew", "A tool.")
CLAIM = "Port Merrow Lighthouse was built by an engineer from Cork."


def test_links_form_a_chain_from_the_claim() -> None:
    links = DocumentLinks.find(CLAIM, [BRIDGE, PERSON, CITY, OTHER, (BRIDGE[0], "It is white.")])
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
    assert DocumentLinks.find(CLAIM, []).largest == 0


words = st.lists(st.sampled_from(["Ada", "Quill", "Cork", "of", "(x)"]), max_size=4).map(" ".join)


@given(words, st.lists(st.tuples(words, words), max_size=5))
def test_components_equal_transitive_closure(claim: str, texts: list[tuple[str, str]]) -> None:
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
def test_links_of_hostile_texts_are_consistent(claim: str, texts: list[tuple[str, str]]) -> None:
    links = DocumentLinks.find(claim, texts)
    assert links.reached <= links.relevant <= set(range(len(links.titles)))
