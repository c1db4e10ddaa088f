"""Examples of natural language inference: files, mismatched and surrounded evidence, names."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import RecordError
from admiral.records import Document
from training.data.evidence_corpora import GivenDocuments
from training.data.examples import Example
from training.data.inference_examples import (
    TitleNames,
    read_inference_examples,
    surrounded_examples,
    with_titles,
)


def write(path, *records):
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return path


def record(source, label, premise="A dog."):
    return {"premise": premise, "hypothesis": "An animal.", "label": label, "source": source}


def untitled(claim, *texts, label="entailment", source="fever"):
    return Example(claim, tuple(("", text) for text in texts), label, source)


def test_each_sentence_of_a_premise_is_one_of_the_evidence(tmp_path):
    path = write(
        tmp_path / "all.jsonl.gz",
        record("snli", "entailment"),
        record("snli", "contradiction", "A cat sleeps. It snores."),
        record("snli", "not_entailment"),
        record("anli", "contradiction"),
    )
    one, two, three = read_inference_examples(path)
    assert one == Example("An animal.", (("", "A dog."),), "entailment", "snli", ("entailment",))
    assert two.evidence == (("", "A cat sleeps."), ("", "It snores."))
    assert two.sentences == three.sentences == ()  # which of them decides is not known
    assert three.label == "not_entailment"
    assert len(list(read_inference_examples(path, non_commercial=True))) == 4


def test_a_missing_field_is_named(tmp_path):
    path = write(tmp_path / "a.jsonl.gz", {"premise": "A dog.", "label": "neutral"})
    with pytest.raises(RecordError, match=r"a\.jsonl\.gz:1.*hypothesis"):
        list(read_inference_examples(path))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("He moved to New York in May.", True),
        ("New York", True),
        ("the new york", False),
        ("New Yorkers moved.", False),
        ("The film Alien is old.", True),
        ("an alien film", False),
        ("In 1984, it rained.", True),
        ("She read Seven Samurai.", True),
        ("Ada Brook", False),
        ("", False),
    ],
)
def test_titles_are_found_as_whole_names(text, named):
    names = TitleNames(["New York", "Alien (film)", "1984", "Seven_Samurai", "(band)"])
    assert names.in_text(text) is named
    assert names.in_example(untitled(text, "A dog.")) is named
    assert names.in_example(untitled("A dog.", "A cat.", text)) is named
    assert names.in_example(Example("A dog.", ((text, "It is."),), "neutral", "s")) is named


@given(
    st.lists(st.text("AaBb ", min_size=1, max_size=6), max_size=3), st.text("AaBb .", max_size=12)
)
def test_names_are_runs_of_words_that_begin_with_a_capital(titles, text):
    words = text.replace(".", " ").split()
    runs = {
        tuple(words[begin:end])
        for begin in range(len(words))
        for end in range(begin + 1, len(words) + 1)
        if words[begin][0].isupper()
    }
    expected = any(tuple(title.split()) in runs for title in titles if title.strip())
    assert TitleNames(titles).in_text(text) is expected


CORPUS = GivenDocuments(
    [
        Document("Rome", ("Rome is old.", "Rome has seven hills and old trams.")),
        Document("Trams", ("Trams are on hills.",)),
    ]
)
CLAIM, EVIDENCE = "Rome has steep hills and trams.", "The city lies on seven steep hills."
EXAMPLE = untitled(CLAIM, EVIDENCE)


def test_the_evidence_stands_among_the_closest_sentences():
    made = [e for seed in range(20) for e in surrounded_examples([EXAMPLE], "fever", CORPUS, seed)]
    assert {(e.claim, e.label) for e in made} == {(CLAIM, "entailment")}
    places = [example.evidence.index(("", EVIDENCE)) for example in made]
    assert {0, 1} <= set(places)
    for example, at in zip(made, places, strict=True):
        assert len(example.evidence) > 1
        assert example.sentences[at] is None
        assert {name for n, name in enumerate(example.sentences) if n != at} == {"neutral"}
    added = {text for example in made for _, text in example.evidence}
    assert "Trams are on hills." in added
    assert "Rome is old." not in added


def test_most_evidence_of_a_source_gets_a_title_that_the_claim_names():
    examples = [
        Example(
            f"The painter Ada Moss{n} was born in Rome.",
            (("", f"Ada Moss{n} was born in Oslo."),),
            label,
            source,
        )
        for n in range(50)
        for label in ("entailment", "neutral", "contradiction")
        for source in ("a", "b")
    ]
    found = with_titles(examples, "a", 1)
    assert found == with_titles(examples, "a", 1) != with_titles(examples, "a", 2)
    titled = [e for e in found if e.evidence[0][0]]
    assert {e.source for e in titled} == {"a"}
    assert 0.6 < len(titled) / 150 < 0.8
    assert all(e.evidence[0][0].startswith("Ada Moss") for e in titled)
    assert with_titles(titled, "a", 3) == titled
    several = Example(
        "Ada Moss ran.", (("", "Ada Moss ran."),) * 2, "entailment", "a", ("neutral",)
    )
    assert with_titles([several] * 9, "a", 1) == [several] * 9
