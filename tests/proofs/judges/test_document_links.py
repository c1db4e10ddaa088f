"""How documents of the evidence hang together, beside a slow search of all pairs and paths."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from proofs.judges.document_links import Links
from tests.proofs.hostile import claims, evidence

BRIDGE = ("Port Merrow Lighthouse (Ireland)", "It was built by Ada Quill.")
PERSON = ("Ada Quill", "An engineer from Cork.")
CITY = ("Cork", "A city in Ireland.")
OTHER = ("Corkscrew", "A tool.")
CLAIM = "Port Merrow Lighthouse was built by an engineer from Cork."


def test_a_chain_leads_from_the_claim_to_its_documents() -> None:
    links = Links.of(CLAIM, [BRIDGE, PERSON, CITY, OTHER, (BRIDGE[0], "It is white.")])
    assert links.titles == tuple(title for title, _ in (BRIDGE, PERSON, CITY, OTHER))
    assert links.named == (True, False, True, False)
    assert [sorted(n) for n in links.neighbours] == [[1], [0, 2], [1], []]
    assert [sorted(n) for n in links.naming] == [[1], [2], [], []] and links.largest == 3
    assert links.useful == links.reached == {0, 1, 2}
    broken = Links.of("Ada built it.", [BRIDGE, CITY])
    assert broken.naming == (frozenset(),) * 2
    assert broken.reached == frozenset() and broken.largest == 1
    assert Links.of(CLAIM, []).largest == 0


words = st.lists(st.sampled_from(["Ada", "Quill", "Cork", "of", "(x)"]), max_size=4).map(" ".join)


@given(words, st.lists(st.tuples(words, words), max_size=5))
def test_groups_are_those_of_all_paths(claim: str, texts: list[tuple[str, str]]) -> None:
    links = Links.of(claim, texts)
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
def test_hostile_texts_have_links_too(claim: str, texts: list[tuple[str, str]]) -> None:
    links = Links.of(claim, texts)
    assert links.reached <= links.useful <= set(range(len(links.titles)))
