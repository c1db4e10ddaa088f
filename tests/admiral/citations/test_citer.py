"""The whole flow over a knowledge base: statuses, decisions and suggestions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from admiral.citations.citation_records import Citation
from admiral.citations.citation_settings import CitationConfig
from admiral.citations.citer import Citer
from admiral.citations.verdict_file import verdict_record
from admiral.errors import AdmiralError
from admiral.sources import Source
from admiral.sources.source_indexing import build_sources
from tests.admiral.citations.cited_pages import BRIDGE, CLAIM, HARBOUR, claim

_LONG = " ".join(["Die Brücke wurde im Mai eröffnet und führt über den Fluss nach Belmar."] * 8)
MIRROR = Source("https://en.wikipedia.org/wiki/Belmar", "Belmar", f"{CLAIM.claim} " * 8)
COPY = Source(
    "https://copies.example.net/belmar",
    "Belmar",
    "Belmar is a town at the sea with two bridges and a harbour, and it is known for its summer "
    "fair, which takes place on the old market. The Eastern Bridge, which crosses the Orr, was "
    "opened in 1932 by Ada Lane. " * 2,
)
SOURCES = [
    BRIDGE,
    HARBOUR,
    MIRROR,
    COPY,
    Source("https://empty.example.org/", "Empty", ""),
    Source("https://short.example.org/", "Short", "The bridge was opened in 1932."),
    Source("https://german.example.org/", "Brücke", _LONG),
]
FAST = CitationConfig(verifier="coverage")


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    path = tmp_path_factory.mktemp("citer") / "kb"
    build_sources(SOURCES, path)
    return path


@pytest.fixture(scope="module")
def citer(kb):
    with Citer.open(kb, config=FAST) as opened:
        yield opened


@pytest.mark.parametrize(
    ("url", "status"),
    [
        (BRIDGE.url, "scored"),
        ("http://www.news.example.org/bridge/?utm_source=x#top", "scored"),
        ("https://web.archive.org/web/20200101000000/https://news.example.org/bridge", "scored"),
        ("https://nowhere.example.org/", "not_in_knowledge_base"),
        ("https://empty.example.org/", "no_text"),
        ("https://short.example.org/", "too_short"),
        ("https://german.example.org/", "not_english"),
        ("", "not_web"),
        ("javascript:alert(1)", "not_web"),
        (MIRROR.url, "blocked"),
    ],
)
def test_each_status(citer, url, status):
    verdict = citer.verify(replace(CLAIM, citations=(Citation(url, title="Title"),)))
    (source,) = verdict.existing
    assert source.status == status
    if status == "scored":
        assert verdict.decision == "keep"
        assert not verdict.warnings
        return
    # What could not be read has no score, and never counts as failing.
    assert source.score is source.probability is source.percentile is None
    assert verdict.decision == "not_checked"
    assert not verdict.flagged
    assert len(verdict.warnings) == 1


def test_a_source_that_says_nothing_of_it_is_replaced(citer):
    long = "The Eastern Bridge is 320 metres long and was closed for repairs in 1978."
    verdict = citer.verify(claim(long, HARBOUR.url))
    assert verdict.decision == "replace"
    assert verdict.flagged
    assert verdict.suggestions[0].url == BRIDGE.url
    best = verdict.suggestions[0].passage
    assert best is not None
    assert BRIDGE.text[best.start : best.end] == best.text


def test_an_unread_source_beside_a_failing_one_is_not_a_failure(citer):
    cited = (Citation(HARBOUR.url), Citation("https://nowhere.example.org/"))
    verdict = citer.verify(replace(CLAIM, citations=cited))
    assert verdict.decision == "not_checked"
    assert [one.status for one in verdict.existing] == ["scored", "not_in_knowledge_base"]
    assert verdict.suggestions


def test_a_claim_without_citations_gets_one(citer):
    assert citer.verify(replace(CLAIM, citations=())).decision == "add"
    nonsense = citer.verify(claim("Quokkas photosynthesise in Zanzibar."))
    assert (nonsense.decision, nonsense.flagged) == ("not_checked", False)


def test_neither_wikipedia_nor_a_copy_of_the_page_is_suggested(citer):
    own = replace(
        CLAIM,
        citations=(),
        before="Belmar is a town at the sea with two bridges and a harbour, and it is known for "
        "its summer fair, which takes place on the old market.",
    )
    urls = [one.url for one in citer.verify(own).suggestions]
    assert BRIDGE.url in urls
    assert MIRROR.url not in urls
    assert COPY.url not in urls


def test_a_source_with_the_value_changed_scores_lower(citer):
    right, wrong = (
        citer.verify(claim(f"The Eastern Bridge was opened in {year}.", BRIDGE.url)).existing[0]
        for year in (1932, 1934)
    )
    assert right.score is not None
    assert wrong.score is not None
    assert right.score > wrong.score
    assert right.finding == "supported"


def test_an_audit_begins_with_the_lowest_score(citer):
    claims = [
        replace(CLAIM, id="good"),
        replace(CLAIM, id="unread", citations=(Citation("https://nowhere.example.org/"),)),
        replace(CLAIM, id="bad", citations=(Citation(HARBOUR.url),)),
    ]
    assert [v.claim.id for v in citer.audit(claims)] == ["bad", "good", "unread"]
    tagged = replace(CLAIM, id="tagged", tags=("failed-verification",))
    assert next(v.claim.id for v in citer.audit([*claims, tagged])) == "tagged"


def test_suggestions_for_a_statement(citer):
    found = citer.suggest("The lighthouse of the harbour was first lit in 1911.", 1)
    assert [one.url for one in found] == [HARBOUR.url]
    assert citer.suggest("xyzzy plugh") == []
    with pytest.raises(AdmiralError, match="empty"):
        citer.suggest("  ")


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("verifier=best", "verifier"),
        ("verifier=cross-encoder classifier=", "classifier"),
        ("not_found=1.01", "not_found"),
        ("k=0", "k"),
        ("kk=1", "kk"),
    ],
)
def test_bad_settings(override, key):
    with pytest.raises(AdmiralError, match=f"key '{key}'"):
        CitationConfig.read(None, override.split())


def test_the_default_verifier(kb):
    def decisions(claims):
        with Citer.open(kb) as opened:
            return [one.decision for one in opened.verify_many(claims)]

    failing = replace(CLAIM, id="2", citations=(Citation(HARBOUR.url),))
    assert decisions([CLAIM, failing]) == ["keep", "replace"]


def test_sources_that_stand_together_are_judged_together(kb, citer):
    """Neither source has the whole claim; both have."""
    both = (
        "The Eastern Bridge was opened in 1932 by Governor Ada Lane, and the lighthouse of the "
        "harbour of Belmar was designed by Ida Morton and was first lit in 1911."
    )
    verdict = citer.verify(claim(both, BRIDGE.url, HARBOUR.url))
    assert verdict.together is not None
    alone = [one.score for one in verdict.existing if one.score is not None]
    assert verdict.together.score > max(alone)
    assert verdict.existing_score == verdict.together.score
    assert verdict_record(verdict)["together"]["score"] == round(verdict.together.score, 6)
    probabilities = [one.probability for one in verdict.existing if one.probability is not None]
    assert verdict.together.probability is not None
    between = (max(probabilities) + verdict.together.probability) / 2
    with Citer.open(kb, config=FAST.changed(not_found=between, supported=1.0)) as strict:
        assert strict.verify(claim(both, BRIDGE.url)).flagged
        assert strict.verify(claim(both, BRIDGE.url, HARBOUR.url)).decision == "keep"


JOINED = "The Eastern Bridge was opened in 1932 and the lighthouse was first lit in 1911."


def test_the_part_that_a_mark_covers_is_judged(citer):
    """The source has the first half of the sentence only, and the mark covers only that."""
    part = claim("The Eastern Bridge was opened in 1932.", BRIDGE.url)
    sentence = claim(JOINED, BRIDGE.url)
    marked = replace(sentence, span=(0, JOINED.index(" and")))
    alone, whole, covered = (citer.verify(one).existing_score for one in (part, sentence, marked))
    assert covered == alone
    assert whole < alone
    assert verdict_record(citer.verify(marked))["covered"] == part.claim


def test_the_marks_of_a_sentence_are_judged_together(citer):
    """The second mark stands after a half that the first mark's source has."""
    half = JOINED.index(" and")
    first = replace(claim(JOINED, HARBOUR.url, id="a"), span=(0, half))
    second = replace(claim(JOINED, BRIDGE.url, id="b"), span=(half, len(JOINED)))
    second = replace(second, citations=(Citation(BRIDGE.url, name="2"),))
    verdict, _ = citer.verify_many([first, second])
    assert verdict.finding == "not_found"
    assert (verdict.decision, verdict.supported_beside) == ("keep", ("2",))
    assert citer.verify(first).flagged
