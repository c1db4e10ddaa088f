"""Blind studies: what the page hides, and statistics with known values."""

from __future__ import annotations

import json
import math
import re

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from admiral.citations.citation_records import CitedClaim
from admiral.citations.study_items import (
    NO_MAJORITY,
    fleiss_kappa,
    majority,
    sign_test,
    study_items,
    study_page,
)
from admiral.cli.study import study_command
from admiral.errors import AdmiralError
from tests.admiral.io.test_rendering import Reader


def verdict_record(number, **changes):
    def scored(kind, score):
        text = f"{kind} passage {number}"
        return {"url": f"https://{kind}.example", "score": score, "passage": {"text": text}}

    record = {
        "id": f"c{number}",
        "page": "Town",
        "claim": f"Claim {number}.",
        "decision": "replace",
        "existing": [scored("cited", -1.0)],
        "suggestions": [scored("other", 2.0)],
    }
    return record | changes


RECORDS = [verdict_record(number) for number in range(40)]


def test_order_is_random_by_item_and_given_by_the_seed():
    items = study_items(RECORDS, {}, 3)
    assert items == study_items(RECORDS, {}, 3)
    assert items != study_items(RECORDS, {}, 4)
    firsts = sum(item.existing_first for item in items)
    assert 8 <= firsts <= 32
    assert [item.claim_id for item in items] != [record["id"] for record in RECORDS]
    for item in items:
        shown = item.passages[0 if item.existing_first else 1]
        assert shown.startswith("cited passage")


def test_claims_without_two_sources_are_left_out():
    unread = [{"url": "https://a.example", "score": None, "passage": None}]
    records = [
        verdict_record(1, existing=unread),
        verdict_record(2, suggestions=[]),
        verdict_record(3, decision="keep"),
    ]
    assert [item.claim_id for item in study_items(records, {}, 0)] == ["c3"]
    assert study_items(records, {}, 0, only_replaced=True) == []


def test_page_does_not_tell_the_sources_apart():
    context = {"c1": CitedClaim("c1", "Claim 1.", "Town", ("History",), "Before.", "After.")}
    items = study_items(RECORDS[:6], context, 1)
    page = "".join(study_page(items))
    assert Reader(page).tags.count("section") == 6
    assert "https:" not in page
    assert not re.search(r"existing|suggested|replace\b(?!\()", page)
    swapped = page.replace("cited passage", "X passage").replace("other passage", "X passage")
    assert "cited" not in swapped
    assert "Town › History" in Reader(page).text
    assert "Before." in Reader(page).text


@given(st.text(), st.text())
def test_hostile_texts_add_no_tags(claim, passage):
    existing = [{"url": "u", "score": 1, "passage": {"text": f"x {passage}"}}]
    records = [verdict_record(1, claim=f"c {claim}", existing=existing)]
    tags = Reader("".join(study_page(study_items(records, {}, 0)))).tags
    usual = Reader("".join(study_page(study_items([verdict_record(1)], {}, 0)))).tags
    assert tags == usual


def test_kappa_of_the_example_of_fleiss():
    """Fleiss (1971), as in textbooks: 10 subjects, 14 raters, 5 categories, kappa 0.210."""
    counts = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    assert fleiss_kappa(counts) == pytest.approx(0.210, abs=0.0005)


def test_kappa_is_one_for_agreement_and_none_where_it_is_not_defined():
    assert fleiss_kappa([[3, 0, 0], [0, 3, 0], [0, 0, 2]]) == 1.0
    assert fleiss_kappa([[3, 0], [3, 0]]) is None
    assert fleiss_kappa([[1, 0], [0, 1]]) is None
    assert fleiss_kappa([[1, 1], [1, 1]]) == -1.0


@pytest.mark.parametrize(
    ("wins", "losses", "one_tailed", "two_tailed"),
    [
        (8, 2, 56 / 1024, 112 / 1024),
        (2, 8, 1013 / 1024, 112 / 1024),
        (5, 5, 638 / 1024, 1.0),
        (0, 0, 1.0, 1.0),
        (10, 0, 1 / 1024, 2 / 1024),
    ],
)
def test_sign_test(wins, losses, one_tailed, two_tailed):
    test = sign_test(wins, losses)
    assert (test.one_tailed, test.two_tailed) == (one_tailed, two_tailed)


@given(st.integers(0, 60), st.integers(0, 60))
def test_sign_test_agrees_with_a_slow_sum(wins, losses):
    count = wins + losses
    oracle = sum(math.comb(count, k) * 0.5**count for k in range(wins, count + 1))
    test = sign_test(wins, losses)
    assert test.one_tailed == pytest.approx(oracle)
    assert test.two_tailed == pytest.approx(
        min(1.0, 2 * sign_test(max(wins, losses), min(wins, losses)).one_tailed)
    )


def test_majority_needs_more_than_half():
    assert majority({"existing": 2, "suggested": 1}) == "existing"
    assert majority({"existing": 1, "suggested": 1}) == NO_MAJORITY
    assert majority({"existing": 2, "suggested": 1, "neither": 1}) == NO_MAJORITY


def run(*arguments):
    result = CliRunner().invoke(study_command, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def built(folder):
    verdicts = folder / "verdicts.jsonl"
    verdicts.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    page, key = folder / "study.html", folder / "study.key.json"
    run("build", verdicts, "--output", page)
    return page, key


def answer(page, key, path, preference, count=10, evidence=None):
    """Write answers as the page exports them, always for the same kind of source.

    `evidence`: label of the existing and of the suggested sources.
    """
    text = page.read_text()
    (study,) = re.findall(r'data-study="(\w+)"', text)
    names = re.findall(r'data-item="(\w+)"', text)[:count]
    items = json.loads(key.read_text())["items"]
    other = {"first": "second", "second": "first"}
    answers, labels = {}, {}
    for name in names:
        existing = items[name]["existing"]
        side = {"existing": existing, "suggested": other[existing], "neither": "neither"}
        answers[name] = side[preference]
        if evidence is not None:
            labels[name] = dict(zip((existing, other[existing]), evidence, strict=True))
    record = {"study": study, "annotator": "a", "answers": answers, "evidence": labels}
    path.write_text(json.dumps(record))
    return path


def test_a_study_from_page_to_score(tmp_path):
    page, key = built(tmp_path)
    files = [
        answer(page, key, tmp_path / "1.json", "suggested"),
        answer(page, key, tmp_path / "2.json", "suggested", 8),
        answer(page, key, tmp_path / "3.json", "existing", 4),
    ]
    record = json.loads(run("score", *files, "--key", key, "--json"))
    assert record["preferences"] == {"existing": 4, "suggested": 18, "neither": 0}
    assert record["majorities"]["suggested"] == 10
    assert record["by_majority"] == {
        "wins": 10,
        "losses": 0,
        "one_tailed": 1 / 1024,
        "two_tailed": 2 / 1024,
    }
    printed = run("score", *files, "--key", key)
    assert "suggested 18 (82%)" in printed
    assert "p = 0.0009766 one-tailed, 0.001953 two-tailed" in printed


def test_labels_of_evidence_are_counted_by_source(tmp_path):
    page, key = built(tmp_path)
    files = [
        answer(page, key, tmp_path / "1.json", "suggested", 6, ("none", "enough")),
        answer(page, key, tmp_path / "2.json", "suggested", 4, ("partly", "enough")),
        answer(page, key, tmp_path / "3.json", "existing", 2),
    ]
    record = json.loads(run("score", *files, "--key", key, "--json"))
    assert record["evidence"] == {
        "existing": {"enough": 0, "partly": 4, "none": 6},
        "suggested": {"enough": 10, "partly": 0, "none": 0},
    }
    assert record["evidence_kappa"] == {"existing": -1.0, "suggested": None}
    printed = run("score", *files, "--key", key)
    assert "evidence in existing sources  enough 0 (0%), partly 4 (40%), none 6 (60%)" in printed


def test_a_label_that_is_none_is_refused(tmp_path):
    page, key = built(tmp_path)
    path = answer(page, key, tmp_path / "1.json", "existing", 1, ("some", "enough"))
    with pytest.raises(AdmiralError, match=r"evidence\.\w+\.(first|second): is 'some'"):
        run("score", path, "--key", key)


def test_whole_texts_are_shown_on_demand_and_name_no_source():
    texts = {"https://cited.example": "Line one.\nLine two.", "https://other.example": "<b>Other"}
    items = study_items(RECORDS[:3], {}, 1, source_text=texts.get)
    shown = "".join(study_page(items))
    assert Reader(shown).tags.count("details") == 6
    assert "Line two." in Reader(shown).text
    assert "&lt;b&gt;Other" in shown
    assert "https:" not in shown


def test_a_key_is_not_replaced_by_accident(tmp_path):
    page, key = built(tmp_path)
    before = key.read_bytes()
    again = ("build", tmp_path / "verdicts.jsonl", "--output", page, "--seed", "7")
    with pytest.raises(AdmiralError, match=r"study\.key\.json: exists, and answers"):
        run(*again)
    assert key.read_bytes() == before
    run(*again, "--overwrite")
    assert key.read_bytes() != before


def test_answers_of_another_study_are_refused(tmp_path):
    page, key = built(tmp_path)
    path = answer(page, key, tmp_path / "1.json", "existing")
    path.write_text(path.read_text().replace('"study": "', '"study": "x'))
    with pytest.raises(AdmiralError, match="answers another study"):
        run("score", path, "--key", key)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is not JSON"), ("[]", "is not a JSON object"), ("{}", "field 'answers' is missing")],
)
def test_bad_answers_are_one_clear_error(tmp_path, content, message):
    _, key = built(tmp_path)
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(AdmiralError, match=message):
        run("score", tmp_path / "a.json", "--key", key)


def test_a_key_of_something_else_is_refused(tmp_path):
    (tmp_path / "k.json").write_text('{"format": 1, "items": {"a": {"existing": "left"}}}')
    with pytest.raises(AdmiralError, match=r"items\.a\.existing"):
        run("score", tmp_path / "k.json", "--key", tmp_path / "k.json")
