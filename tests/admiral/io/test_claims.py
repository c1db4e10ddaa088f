from __future__ import annotations

import io
import json
import time
from queue import Queue

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError, RecordError
from admiral.io.claims import Prefetch, read_claims, stream_claims
from admiral.io.rendering import claim_notes
from admiral.io.text_cleaning import clean_text
from admiral.records import Claim


def read(tmp_path, content):
    path = tmp_path / "claims.jsonl"
    path.write_bytes(content)
    return list(read_claims(path))


def test_the_id_is_id_or_uid_or_the_line_number(tmp_path):
    content = (
        b'\xef\xbb\xbf{"id": 7, "claim": " A. "}\r\n\n'
        b'{"uid": "u", "claim": "B."}\n{"id": null, "claim": "C."}\n'
        b'{"claim": "D.", "label": [1]}'
    )
    assert read(tmp_path, content) == [
        Claim("7", "A."),
        Claim("u", "B."),
        Claim("4", "C."),
        Claim("5", "D."),
    ]


def test_surrogates_and_nul_are_replaced_as_in_documents(tmp_path):
    assert read(tmp_path, rb'{"claim": " Emmy \ud800 Awards\u0000"}') == [
        Claim("1", "Emmy \N{REPLACEMENT CHARACTER} Awards\N{REPLACEMENT CHARACTER}")
    ]
    assert list(stream_claims([b"A\x00B\n"])) == [Claim("1", "A\N{REPLACEMENT CHARACTER}B")]


@pytest.mark.parametrize(
    ("line", "field", "says"),
    [
        (b'{"id": "x"}', "claim", "is missing (fields found: 'id')"),
        (b'{"claim": ""}', "claim", "is empty"),
        (b'{"claim": " \\n"}', "claim", "is empty"),
        (b'{"claim": null}', "claim", "is null, not text"),
        (b'{"claim": ["a"]}', "claim", 'is ["a"], not text'),
        (b'{"claim": "a", "id": ""}', "id", 'is "", not a text'),
        (b'{"text": "a"}', "claim", "is missing (fields found: 'text')"),
        (b'{"_id": 1.5, "text": "a"}', "_id", "is 1.5, not a text"),
        (b'{"_id": "1", "text": ""}', "text", "is empty"),
        (b'{"claim": "a", "id": true}', "id", "is true, not a text"),
        (b'{"claim": "a", "uid": 1.5}', "uid", "is 1.5, not a text"),
        (b'["a"]', "", "a JSON list instead"),
        (b'"a"', "", "a JSON str instead"),
        (b'{"claim": "a"', "", "not a JSON object"),
        (b'{"claim": "caf\xe9"}', "", "not UTF-8 (byte 15 is 0xe9)"),
        (b'{"claim": "a", "n": ' + b"9" * 5000 + b"}", "", "not a JSON object"),
        (b"[" * 200_000, "", "not a JSON object"),
    ],
)
def test_bad_lines_name_file_line_and_field(tmp_path, line, field, says):
    with pytest.raises(RecordError) as caught:
        read(tmp_path, b'{"claim": "Good."}\n' + line + b"\n")
    assert caught.value.where == f"{tmp_path / 'claims.jsonl'}:2"
    assert caught.value.field == field
    assert caught.value.problem.startswith(says)
    assert caught.value.remedy


def test_duplicate_ids_name_both_lines(tmp_path):
    with pytest.raises(RecordError, match=r"jsonl:3: field 'id': '3' is also the id at .*:1"):
        read(tmp_path, b'{"id": 3, "claim": "a"}\n{"claim": "b"}\n{"claim": "c"}\n')


def test_utf16_is_reported(tmp_path):
    path = tmp_path / "claims.jsonl"
    path.write_bytes('{"claim": "a"}'.encode("utf-16"))
    for skip in (None, lambda _: None):
        with pytest.raises(AdmiralError, match="UTF-16"):
            list(read_claims(path, skip))


@pytest.mark.parametrize("content", [b"", b"\n \n\n"])
def test_files_without_claims(tmp_path, content):
    with pytest.raises(AdmiralError, match="holds no claims"):
        read(tmp_path, content)
    with pytest.raises(AdmiralError, match="holds no claims"):
        list(stream_claims(io.BytesIO(content)))


def test_bad_members_of_an_array_can_be_skipped(tmp_path):
    path = tmp_path / "claims.json"
    path.write_text('[\n{"uid": "a", "claim": "A."}, 3, {"claim": ""},\n{"claim": "B."}]')
    errors: list[RecordError] = []
    assert list(read_claims(path, errors.append)) == [Claim("a", "A."), Claim("4", "B.")]
    assert [error.where for error in errors] == [f"{path}: record 2", f"{path}: record 3"]
    with pytest.raises(RecordError, match="record 2: not a JSON object"):
        list(read_claims(path))
    path.write_text('[\n{"claim": "A."},\n')
    with pytest.raises(RecordError, match="not a JSON list"):
        list(read_claims(path))


def test_sentences_of_wafer_decide_what_the_claim_is(tmp_path):
    meta = {"sentences": ["Dr. A wrote it.", "It was read[CIT]"]}
    line = json.dumps(
        {"id": "1", "input": "P [SEP] Dr. A wrote it. It was read [CIT].", "meta": meta}
    )
    assert read(tmp_path, line.encode()) == [Claim("1", "It was read")]


def test_unreadable_files(tmp_path):
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(AdmiralError, match="cannot be read"):
            list(read_claims(path))


def test_streams_are_text_or_json_lines():
    assert list(stream_claims(io.BytesIO(b"\nA claim.\n {B.\n"))) == [
        Claim("2", "A claim."),
        Claim("3", "{B."),
    ]
    assert list(stream_claims(io.BytesIO(b'\n {"claim": "A."}\n'))) == [Claim("2", "A.")]
    with pytest.raises(RecordError, match="standard input:2"):
        list(stream_claims(io.BytesIO(b'{"claim": "A."}\nB.\n')))


def test_json_objects_after_plain_lines_are_records():
    lines = b'A.\n{"id": "b", "claim": "B."}\n{C}: text.\n["D"]\n'
    assert list(stream_claims(io.BytesIO(lines))) == [
        Claim("1", "A."),
        Claim("b", "B."),
        Claim("3", "{C}: text."),
        Claim("4", '["D"]'),
    ]
    for bad, field in ((b'{"text": "B."}\n', "claim"), (b'{"id": "1", "claim": "B."}\n', "id")):
        with pytest.raises(RecordError) as caught:
            list(stream_claims(io.BytesIO(b"A.\n" + bad)))
        assert (caught.value.where, caught.value.field) == ("standard input:2", field)


def test_bad_lines_can_be_skipped(tmp_path):
    lines = (
        b'{"claim": ""}\n\xff\n{"id": "a", "claim": "A."}\n{"id": "a", "claim": "Again."}\n'
        b'B.\n[]\n{"claim": "C.", "id": true}\n{"claim": "D."}\n'
    )
    path = tmp_path / "claims.jsonl"
    path.write_bytes(lines)
    for name, read in (
        (str(path), lambda skip: read_claims(path, skip)),
        ("standard input", lambda skip: stream_claims(io.BytesIO(lines), skip=skip)),
    ):
        errors = []
        assert list(read(errors.append)) == [Claim("a", "A."), Claim("8", "D.")]
        assert [error.where for error in errors] == [f"{name}:{n}" for n in (1, 2, 4, 5, 6, 7)]
    path.write_bytes(b'{"claim": ""}\n')
    with pytest.raises(AdmiralError, match="holds no claims"):
        list(read_claims(path, lambda _: None))


def test_a_stream_is_not_read_ahead():
    def lines():
        yield b"First.\n"
        raise AssertionError("read ahead")

    assert next(stream_claims(lines())) == Claim("1", "First.")


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.text(min_size=1, max_size=20).filter(str.strip),
        min_size=1,
        max_size=8,
    )
)
def test_any_json_text_is_read_back(claims):
    lines = [json.dumps({"id": key, "claim": text}) + "\n" for key, text in claims.items()]
    got = list(stream_claims(io.BytesIO("".join(lines).encode())))
    assert got == [Claim(key, clean_text(text)) for key, text in claims.items()]


def wait_until_ready(stream):
    deadline = time.monotonic() + 10
    while not stream.ready():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_ready_tells_whether_an_item_is_available():
    source = Queue()
    stream = Prefetch(iter(source.get, None))
    assert not stream.ready()
    source.put(7)
    wait_until_ready(stream)
    assert next(stream) == 7
    assert not stream.ready()
    source.put(None)
    wait_until_ready(stream)  # for the end, too
    assert list(stream) == list(stream) == []


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt])
def test_an_error_is_raised_after_the_items_before_it(kind):
    def source():
        yield from range(3)
        raise kind("item 3 is bad")

    stream = Prefetch(source())
    assert [next(stream) for _ in range(3)] == [0, 1, 2]
    wait_until_ready(stream)
    for _ in range(2):
        with pytest.raises(kind, match="item 3"):
            next(stream)


def test_the_number_of_items_read_ahead_is_bounded():
    read = Queue()

    def source():
        for number in range(100):
            read.put(number)
            yield number

    stream = Prefetch(source(), max_items=5)
    assert [read.get(timeout=10) for _ in range(6)] == list(range(6))  # the sixth cannot be put
    time.sleep(0.02)
    assert read.empty()
    assert list(stream) == list(range(100))


def test_several_sentences_are_counted() -> None:
    (note,) = claim_notes("Ada Quill wrote Fenwick. It won a prize. Dr. Moe printed it.")
    assert note.startswith("These are 3 sentences with one verdict together")


@pytest.mark.parametrize("text", ["", "Dogs bark.", "St. Olaf was played by J. R. Moe in 1931."])
def test_one_sentence_needs_no_note(text: str) -> None:
    assert claim_notes(text) == ()


def test_a_question_has_the_note_that_it_has_no_verdict_and_no_other() -> None:
    (note,) = claim_notes("Ada was born in Oslo. Was she a painter?")
    assert note.startswith("This is a question")
