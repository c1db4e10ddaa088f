"""Training examples: their file form, bad records, and weights by source."""

import json
import random
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError, RecordError
from admiral.gold import GoldClaim, Label, read_gold
from admiral.kb import KnowledgeBase, demo_kb
from admiral.records import Document
from proofs.verifier import LABELS
from training.data.evidence_corpora import GivenDocuments, judged_evidence
from training.data.evidence_examples import selection_examples
from training.data.examples import (
    EXAMPLE_LABELS,
    NOT_ENTAILMENT,
    UNLABELLED,
    Example,
    check_weights,
    draw_examples,
    read_examples,
    weighted,
)
from training.data.inference_examples import joined_examples
from training.data.records import write_records

SENTENCES = st.lists(st.tuples(st.text(), st.text(), st.sampled_from((*EXAMPLE_LABELS, None))))


@st.composite
def some_examples(draw):
    sentences, spans = (
        draw(SENTENCES),
        draw(st.lists(st.tuples(st.integers(0, 9), st.integers(10, 20)))),
    )
    return Example(
        draw(st.text()),
        tuple((title, text) for title, text, _ in sentences),
        draw(st.sampled_from((*LABELS, NOT_ENTAILMENT))),
        draw(st.sampled_from(("snli", "fever", "twins"))),
        tuple(name for _, _, name in sentences) if draw(st.booleans()) else (),
        tuple((begin, end, draw(st.sampled_from(LABELS))) for begin, end in spans),
        draw(st.text()),
        draw(st.floats(0, 9, allow_subnormal=False)),
    )


@given(st.lists(some_examples(), min_size=1, max_size=5))
def test_examples_round_trip(tmp_path_factory, examples):
    path = tmp_path_factory.mktemp("examples") / "examples.jsonl"
    write_records(path, examples)
    assert list(read_examples([path])) == examples


def test_files_are_read_after_each_other_and_empty_ones_are_an_error(tmp_path):
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    one = Example("c", (("", "e"),), "neutral", "snli")
    write_records(paths[0], [one])
    write_records(paths[1], [])
    assert list(read_examples(paths)) == [one]
    with pytest.raises(AdmiralError, match=r"b\.jsonl: no examples; build them first"):
        list(read_examples(paths[1:]))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"claim": None}, "claim"),
        ({"evidence": 3}, "evidence"),
        ({"label": "maybe"}, "label"),
        ({"weight": -1}, "weight"),
        ({"sentences": ["neutral", None]}, "sentences"),
        ({"sentences": ["maybe"]}, "sentences"),
        ({"spans": [[2, 1, "neutral"]]}, "spans"),
    ],
)
def test_bad_records_name_file_line_and_field(tmp_path, change, field):
    record = {"claim": "a", "evidence": [["", "b"]], "label": "neutral", "source": "snli"}
    path = tmp_path / "examples.jsonl"
    path.write_text(f"{json.dumps(record)}\n{json.dumps(record | change)}\n")
    with pytest.raises(RecordError, match=rf"examples\.jsonl:2.*{field}"):
        list(read_examples([path]))


def some(counts):
    return [Example("c", (), "neutral", name) for name, n in counts.items() for _ in range(n)]


def taken(examples):
    sums = Counter()
    for example in examples:
        sums[example.source] += example.weight
    return {name: round(total, 3) for name, total in sums.items()}


def test_weights_are_factors_of_sources_and_labels_and_zero_leaves_out():
    examples = some({"a": 16, "b": 4, "c": 2})
    assert taken(weighted(examples, {})) == {"a": 16, "b": 4, "c": 2}
    label = examples[0].label
    count = sum(one.source == "b" and one.label == label for one in examples)
    found = taken(weighted(examples, {"a": 0, "b": 2.5, f"b/{label}": 0.5}))
    assert found == {"b": 10 - 1.25 * count, "c": 2}
    check_weights(examples, {"a": 0, f"b/{label}": 2})
    with pytest.raises(AdmiralError, match="weights: there are no examples of 'd'; the sources"):
        check_weights(examples, {"d": 1})


def test_whole_groups_of_each_source_are_drawn():
    examples = [
        Example(f"{source} {n}", (), "neutral", source, group=f"{n // 3}" if source == "a" else "")
        for source in ("a", "b")
        for n in range(30)
    ]
    drawn = draw_examples(examples, 10, 0)
    assert drawn == draw_examples(examples, 10, 0) != draw_examples(examples, 10, 1)
    assert drawn == [example for example in examples if example in drawn]
    counts = Counter(example.source for example in drawn)
    assert counts == {"a": 12, "b": 10}
    assert set(Counter(e.group for e in drawn if e.source == "a").values()) == {3}
    assert draw_examples(examples, 1000, 0) == examples


def parts(count):
    return [
        Example(f"Claim {n} {label}.", (("", f"Sentence {n} {label}."),), label, "s")
        for n in range(count)
        for label in ("entailment", "neutral", "contradiction")
    ]


@given(st.integers(0, 10_000))
def test_labels_follow_from_the_parts(seed):
    for one in joined_examples([*parts(12), *(Example("x", (), "entailment", "o"),)], "s", seed):
        assert one.source == "s-joined"
        labels = []
        for begin, end, label in one.spans:
            text = one.claim[begin:end]
            own = text.split()[-1]
            has_evidence = any(
                text.split()[1] == t.split()[1] and own in t for _, t in one.evidence
            )
            assert label == (own if has_evidence else "neutral")
            labels.append(label)
        assert one.claim.endswith(".")
        expected = "contradiction" if "contradiction" in labels else "neutral"
        assert one.label == ("entailment" if set(labels) == {"entailment"} else expected)


DOCUMENTS = [
    Document("Rome", ("Rome is in Italy.", "It has seven hills.", "Rome is old.")),
    Document("Italy", ("Italy is in Europe.", "Its capital is Rome.")),
    Document("Oslo", ("Oslo is in Norway.", "It is a cold capital in Europe.", "It has trams.")),
]
GOLD = {("Rome", "Rome is in Italy."), ("Italy", "Italy is in Europe.")}


def examples(claim, seed):
    return list(selection_examples(claim, GivenDocuments(DOCUMENTS), "s", random.Random(seed)))


@pytest.mark.parametrize("seed", range(20))
def test_gold_sentences_are_relevant_and_what_is_known_comes_first(seed):
    claim = GoldClaim("1", "Rome is in Europe.", Label.SUPPORTS, ((("Rome", 0), ("Italy", 0)),))
    found = examples(claim, seed)
    assert len(found) in (2, 3)
    known = []
    for example in found:
        assert (example.label, example.weight, example.group) == (UNLABELLED, 1.0, "1")
        labels = dict(zip(example.evidence, example.sentences, strict=True))
        assert len(labels) == len(example.evidence)
        assert {one for one, label in labels.items() if label == "relevant"} <= GOLD
        assert all(label == "neutral" for one, label in labels.items() if one not in GOLD)
        known.append(sum(one in GOLD for one in example.evidence))
    # With nothing known, one to all of the gold sentences are candidates; later, the missing one.
    assert 1 <= known[0] <= 2 and known[1] == 2


def test_without_gold_sentences_the_closest_one_counts_less():
    claim = GoldClaim("1", "Oslo is a cold capital.", Label.SUPPORTS, ((("Oslo", None),),))
    for example in examples(claim, 0):
        labels = dict(zip(example.evidence, example.sentences, strict=True))
        assert labels["Oslo", "It is a cold capital in Europe."] == "relevant"
        assert example.weight == 0.5


DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"


@pytest.fixture(scope="module")
def kb(user_cache):
    with KnowledgeBase.open(demo_kb()) as opened:
        yield opened


def test_incomplete_evidence_lacks_one_gold_document(kb):
    claims = list(read_gold(DEMO))[:30]
    examples = list(judged_evidence(kb, claims, seed=3))
    assert len(examples) == 60
    for claim, full, part in zip(claims, examples[::2], examples[1::2], strict=True):
        gold = {(t, kb.document(t).sentences[i]) for t, i in claim.sentences}
        assert full.claim == part.claim == claim.claim
        assert full.sufficient and not part.sufficient
        assert gold <= set(full.evidence)
        lost = gold - set(part.evidence)
        assert len({title for title, _ in lost}) == 1
        (title,) = {title for title, _ in lost}
        assert title not in {t for t, _ in part.evidence}
        assert len(full.evidence) == max(5, len(gold)) and len(part.evidence) >= 5 - len(lost)
    # The examples of a claim depend on the seed, not on other claims.
    assert list(judged_evidence(kb, claims[7:8], seed=3)) == examples[14:16]
    assert list(judged_evidence(kb, claims, seed=4)) != examples
    unknown = GoldClaim("1", "No.", None, ((("No such title", 0),),))
    assert list(judged_evidence(kb, [unknown])) == []
