"""Catalogue headings: the rule, that it can be inverted, and samples with headings as titles."""

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb import demo_kb
from admiral.retrieval.mentions import base_title
from proofs import NatOp, Proof, ProofStep
from training import build_data, link_prediction
from training.data.samples import (
    ProveSample,
    RerankDocument,
    RerankSample,
    RetrieveSample,
    catalogue_heading,
    read_samples,
    with_headings,
)

# Words with commas and other punctuation, but without the parentheses of qualifiers.
WORDS = st.text("ABcdé0,.'-&!", min_size=1, max_size=4)
BASES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
QUALIFIERS = st.sampled_from(["", " (film)", " (1954 film)", "(x)", "  (y, z)", " ()"])
TITLES = st.builds(str.__add__, BASES, QUALIFIERS)


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("Seth Meyers", "Meyers, Seth"),
        ("Alien (film)", "Alien (film)"),
        ("The Tonight Show (1954)", "Show, The Tonight (1954)"),
        ("Jeopardy!", "Jeopardy!"),
        ("Pittsview, Alabama", "Alabama, Pittsview,"),
        ("Greater Swiss  Mountain Dog", "Dog, Greater Swiss Mountain"),
        ("(500) Days of Summer", "Summer, (500) Days of"),
        ("(film)", "(film)"),
        ("", ""),
    ],
)
def test_the_last_word_comes_first_and_the_qualifier_last(title, heading):
    assert catalogue_heading(title) == heading


def title_of(heading):
    """Invert the rule: move the first word of several, which ends with a comma, to the end."""
    base = base_title(heading)
    first, _, rest = base.partition(" ")
    return f"{rest} {first.removesuffix(',')}{heading[len(base) :]}" if rest else heading


@given(TITLES)
def test_different_titles_have_different_headings(title):
    assert title_of(catalogue_heading(title)) == title


@given(st.text())
def test_a_heading_is_the_title_or_has_its_words_in_other_order(title):
    heading = catalogue_heading(title)
    one_word = len(base_title(title).split()) < 2
    assert (heading == title) == one_word
    if not one_word:
        letters = [letter for letter in title if not letter.isspace()]
        assert sorted("".join(heading.split())) == sorted([*letters, ","])


def samples():
    evidence = (("Seth Meyers", "Seth Meyers hosts Late Night."), ("Alien (film)", "A film."))
    document = RerankDocument("Seth Meyers", ("A text.",), (0,))
    return [
        *(RetrieveSample(f"Claim {n}", evidence, 1, ("Late Night", "Rome")) for n in range(200)),
        RerankSample("A claim", evidence, (document,)),
        ProveSample("A claim", evidence, Proof((ProofStep("A", "B", NatOp.INDEPENDENCE),))),
    ]


def test_all_titles_of_a_share_of_retrieval_samples_become_headings():
    before, after = samples(), list(with_headings(samples(), 0.25, seed=3))
    changed = [two for one, two in zip(before, after, strict=True) if one != two]
    assert 30 < len(changed) < 70
    texts = ("Seth Meyers hosts Late Night.", "A film.")
    for sample in changed:
        assert isinstance(sample, RetrieveSample)
        assert sample.evidence == tuple(zip(("Meyers, Seth", "Alien (film)"), texts, strict=True))
        assert (sample.hop, sample.gold) == (1, ("Night, Late", "Rome"))
    assert [one.claim for one in after] == [one.claim for one in before]
    assert list(with_headings(samples(), 0.25, seed=3)) == after
    assert list(with_headings(samples(), 0.25, seed=4)) != after


def test_none_or_all_retrieval_samples_are_changed():
    assert list(with_headings(samples(), 0, seed=0)) == samples()
    changed = zip(samples(), with_headings(samples(), 1, seed=0), strict=True)
    assert all((one != two) == isinstance(one, RetrieveSample) for one, two in changed)


def test_link_prediction_writes_headings(tmp_path):
    golds = {}
    for share in ("0", "1"):
        out = tmp_path / f"{share}.jsonl"
        arguments = ["--kb", str(demo_kb("bm25s")), "--count", "20", "--headings", share, str(out)]
        done = CliRunner().invoke(link_prediction.main, arguments)
        assert done.exit_code == 0, done.output
        golds[share] = [s.gold for s in read_samples(out) if isinstance(s, RetrieveSample)]
    assert golds["1"] == [tuple(map(catalogue_heading, gold)) for gold in golds["0"]]
    assert golds["1"] != golds["0"]


@pytest.mark.parametrize("share", ["nan", "1.5", "-0.1"])
def test_a_share_is_a_number_from_0_to_1(share, tmp_path):
    out = str(tmp_path / "out.jsonl")
    done = CliRunner().invoke(link_prediction.main, ["--headings", share, out])
    assert done.exit_code == 2 and "--headings" in done.output
    done = CliRunner().invoke(
        build_data.main, ["--source", "gold:claims.jsonl", "--headings", share, out]
    )
    assert done.exit_code == 2 and "--headings" in done.output
