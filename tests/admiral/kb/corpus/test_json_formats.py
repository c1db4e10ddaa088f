"""Parsers of JSON Lines, BEIR, FEVER, HotpotQA and KILT records."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import RecordError
from admiral.io.text_cleaning import fever_title
from admiral.kb.corpus.json_records import (
    _HREF,
    parse_beir,
    parse_fever,
    parse_hotpotqa,
    parse_jsonl,
    parse_kilt,
    parse_wiki_jsonl,
)
from admiral.records import Document


@pytest.mark.parametrize(
    ("record", "sentences", "sections"),
    [
        ({"text": ["One. Two.", None, "Three."]}, ("One.", "Two.", "Three."), ()),
        ({"paragraphs": [["One."], "Two."]}, ("One.", "Two."), ()),
        (
            {"text": [{"heading": "H", "text": "One."}, {"body": ["Two."], "id": 7}]},
            ("One.", "Two."),
            ("H", ""),
        ),
        (
            {"text": {"Life": "One. Two.", "Work": {"Early": ["Three."], "Late": None}}},
            ("One.", "Two.", "Three."),
            ("Life", "Life", "Work > Early"),
        ),
        (
            {"sections": [{"title": "H", "text": "One.", "sections": [{"text": "Two."}]}]},
            ("One.", "Two."),
            ("H", "H"),
        ),
        ({"text": "One.", "sections": [{"text": "Two."}]}, ("One.",), ()),
        ({"text": []}, (), ()),
    ],
)
def test_text_in_parts(record, sentences, sections):
    document = parse_jsonl({"title": "T", **record}, "c:1")
    assert (document.sentences, document.sections) == (sentences, sections)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ([["One."], 2], "text[1]"),
        ({"Life": {"text": ["One.", True]}}, "text.Life.text[1]"),
        ([{"heading": "H", "content": 1.5}], "text[0].content"),
    ],
)
def test_parts_that_are_no_text_are_named(text, field):
    with pytest.raises(RecordError, match="where a text is needed") as caught:
        parse_jsonl({"title": "T", "text": text}, "c:1")
    assert caught.value.field == field


def test_parts_are_nested_to_a_bound():
    text = "One."
    for _ in range(200):
        text = [text]
    with pytest.raises(RecordError, match="nested more than 50 times"):
        parse_jsonl({"title": "T", "text": text}, "c:1")


def test_wiki_jsonl():
    record = {
        "title": "T",
        "sentences": ["A [[great_tit#Song|tit]] in [[Paris]].", "[[x [[https://a.b|site]]", "[[]]"],
    }
    assert parse_wiki_jsonl(record, "c:1") == Document(
        "T", ("A tit in Paris.", "[[x site", ""), (("Great tit", "Paris"), (), ())
    )
    given = {"title": "T", "sentences": ["a [[b]]"], "links": [["X"]]}
    assert parse_wiki_jsonl(given, "c:1") == Document("T", ("a b",), (("X", "B"),))
    assert parse_wiki_jsonl({"title": "T", "text": "One. Two."}, "c:1").sentences == (
        "One.",
        "Two.",
    )
    with pytest.raises(RecordError, match=r"c:1: field 'text': hyperlinks in a text that is not"):
        parse_wiki_jsonl({"title": "T", "text": "With [[A. B.|Mr. B]]."}, "c:1")
    with pytest.raises(RecordError, match=r"c:1: field 'text': hyperlinks in a text that is not"):
        parse_wiki_jsonl({"title": "T", "text": ["With [[A]]."]}, "c:1")


def test_fever_page():
    lines = (
        "0\tA cat -LRB- Felis catus -RRB- is a `` pet '' .\tpet\tPet\n"
        "2\tIt says\tsays\tSpeech_-LRB-sound-RRB-\tdangling\n"
        "a line feed\tfeed\tLine_feed\n"
        "3\t"
    )
    document = parse_fever({"id": "Cat_-LRB-animal-RRB-", "text": "", "lines": lines}, "w:1")
    assert document == Document(
        "Cat (animal)",
        ('A cat ( Felis catus ) is a " pet " .', "", "It says a line feed", ""),
        (("Pet",), (), ("Speech (sound)", "Line feed"), ()),
    )


def test_fever_titles_are_composed_unicode():
    assert fever_title("Beyonce\u0301_-COLON-_Live") == "Beyoncé : Live"


def test_fever_padding_records_are_skipped():
    assert parse_fever({"id": "", "text": "", "lines": ""}, "w:1") is None


def test_fever_page_without_sentences():
    assert parse_fever({"id": "A", "text": "", "lines": ""}, "w:1") == Document("A", ())


def test_hotpotqa_abstract():
    record = {
        "id": 12,
        "title": "Cat",
        "text": ["A cat is a pet &amp; more.", " It sleeps."],
        "text_with_links": [
            'A <a href="Domestic%20cat">cat</a> is a <a href="pet#History">pet</a> &amp;amp; more.',
            ' It <a href="https%3A//example.org">sleeps</a>.',
        ],
        "charoffset": [],
    }
    assert parse_hotpotqa(record, "w:1") == Document(
        "Cat", ("A cat is a pet &amp; more.", " It sleeps."), (("Domestic cat", "Pet"), ())
    )


def test_hotpotqa_article_with_paragraphs_and_links_in_place():
    record = {
        "title": "Cat",
        "text": [["Cat"], ["A cat is a <a href='pet'>pet</a> &amp; more."], [], ["It sleeps."]],
    }
    assert parse_hotpotqa(record, "w:1") == Document(
        "Cat", ("A cat is a pet & more.", "It sleeps."), (("Pet",), ())
    )


def test_kilt_page():
    paragraphs = [
        "Cat\n",
        "A cat is a pet. It hunts mice.\n",
        "Section::::Breeds.\n",
        "BULLET::::- Siamese cats talk.\n",
    ]
    anchors = [
        {"paragraph_id": 1, "start": 11, "end": 14, "text": "pet", "wikipedia_title": "Pet"},
        {"paragraph_id": 1, "start": 25, "end": 29, "text": "mice", "href": "House%20mouse"},
        {"paragraph_id": 3, "start": 12, "end": 19, "text": "Siamese", "href": "Siamese%20cat"},
    ]
    record = {"wikipedia_id": 6678, "wikipedia_title": "Cat", "text": paragraphs}
    record["anchors"] = anchors
    assert parse_kilt(record, "k:1") == Document(
        "Cat",
        ("A cat is a pet.", "It hunts mice.", "Siamese cats talk."),
        (("Pet",), ("House mouse",), ("Siamese cat",)),
        id="6678",
    )


@pytest.mark.parametrize(
    ("parse", "record", "field"),
    [
        (parse_jsonl, {"text": "x"}, "title"),
        (parse_jsonl, {"title": None, "text": "x"}, "title"),
        (parse_jsonl, {"title": "T"}, "sentences"),
        (parse_jsonl, {"title": "T", "sentences": "x"}, "sentences"),
        (parse_jsonl, {"title": "T", "sentences": ["x", 1]}, "sentences"),
        (parse_jsonl, {"title": "T", "text": 3}, "text"),
        (parse_jsonl, {"title": "T", "text": "x", "links": [["y"]]}, "links"),
        (parse_jsonl, {"title": "T", "sentences": ["x"], "links": ["y"]}, "links"),
        (parse_jsonl, {"title": "T", "sentences": ["x"], "links": [["y"], []]}, "links"),
        (parse_beir, {"_id": 1.5, "title": "x", "text": "x"}, "_id"),
        (parse_beir, {"_id": True, "title": "x", "text": "x"}, "_id"),
        (parse_beir, {"_id": None, "title": "x", "text": "x"}, "_id"),
        (parse_beir, {"title": "x", "text": "x"}, "_id"),
        (parse_beir, {"_id": "1", "title": "x"}, "text"),
        (parse_fever, {"id": "A"}, "lines"),
        (parse_fever, {"id": "A", "lines": "no number"}, "lines"),
        (parse_fever, {"id": "A", "lines": "99999999\tx"}, "lines"),
        (parse_hotpotqa, {"title": "T"}, "text"),
        (parse_hotpotqa, {"title": "T", "text": "x"}, "text"),
        (parse_hotpotqa, {"title": "T", "text": [["x"], "y"]}, "text"),
        (parse_hotpotqa, {"title": "T", "text": ["x"], "text_with_links": []}, "text_with_links"),
        (parse_kilt, {"wikipedia_title": "T"}, "text"),
        (parse_kilt, {"wikipedia_id": 1.5, "wikipedia_title": "T", "text": []}, "wikipedia_id"),
        (parse_kilt, {"wikipedia_title": "T", "text": ["T"], "anchors": "x"}, "anchors"),
        (parse_kilt, {"wikipedia_title": "T", "text": ["T"], "anchors": [{}]}, "anchors"),
    ],
)
def test_bad_records_name_place_and_field(parse, record, field):
    with pytest.raises(RecordError) as caught:
        parse(record, "c.jsonl:7")
    assert caught.value.field.startswith(field)
    assert str(caught.value).startswith(f"c.jsonl:7: field {caught.value.field!r}: ")


def test_a_fever_page_with_large_gaps_is_a_bad_record():
    one = {"id": "A", "lines": "0\tx\n9000\tx"}
    document = parse_fever(one, "c:1")
    assert document is not None
    assert len(document.sentences) == 9001
    lines = "".join(f"{i * 10000}\tx\n" for i in range(3000))
    with pytest.raises(RecordError, match=r"c:1: field 'lines': .* more than 10,000 sentences"):
        parse_fever({"id": "A", "lines": lines}, "c:1")


def test_an_unclosed_tag_of_many_hrefs_takes_linear_time():
    marked = "<a " + 'href="x"' * 40_000
    began = time.process_time()
    parse_hotpotqa({"title": "T", "text": ["x"], "text_with_links": [marked]}, "c:1")
    assert time.process_time() - began < 5  # quadratic time takes more than a minute


@given(st.lists(st.sampled_from(["<a", "<A", " ", "href", "=", '"', "'", "x", ">", "<", "</a>"])))
def test_hrefs_equal_those_of_a_simple_regular_expression(parts):
    plain = re.compile(
        r"""<a\s[^<>]*?href\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')[^<>]*>""", re.IGNORECASE
    )
    marked = "".join(parts)
    assert _HREF.findall(marked) == plain.findall(marked)


def test_beir_records_with_nulls_and_numbers():
    assert parse_beir({"_id": 12, "title": None, "text": "A cat."}, "c:1") == Document(
        "12", ("A cat.",), id="12"
    )
    assert parse_beir({"_id": "a", "title": "T", "text": None}, "c:1") == Document("T", (), id="a")
