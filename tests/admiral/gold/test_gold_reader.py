"""Reading of gold claims: every format, format detection, and errors for invalid files."""

import gzip
import json
from importlib import resources
from pathlib import Path

import pytest

from admiral import AdmiralError, RecordError
from admiral.gold import Label, is_blind, is_qrels, read_gold, read_qrels
from admiral.gold.formats import FORMATS
from admiral.io.claims import read_claims, stream_claims
from admiral.records import Claim

DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"
ADA, ENGINE = "Ada Lovelace", "Analytical Engine"
URL = "https://a.example/page"
CLAIM = "The first program was written for a machine."
RECORDS = {
    "pairs": {"id": "p", "evidence": [[ADA, 1], [ENGINE, 0], [ADA, 1]], "num_hops": 2},
    "hover": {"uid": "h", "supporting_facts": [[ADA, 1], [ENGINE, 0]], "label": "NOT_SUPPORTED"},
    "fever": {
        "id": 7,
        "label": "REFUTES",
        "evidence": [
            [[1, 2, "Ada_Lovelace", 1], [1, 3, "Analytical_Engine", 0]],
            [[4, 5, "Program_-LRB-machine-RRB-", 3]],
            [[6, 7, "Analytical_Engine", 0], [6, 8, "Ada_Lovelace", 1]],
        ],
    },
    "feverous": {
        "id": 8,
        "label": "SUPPORTS",
        "evidence": [
            {"content": [f"{ADA}_sentence_1", f"{ENGINE}_sentence_0"], "context": {}},
            {"content": [f"{ADA}_sentence_1", f"{ADA}_header_cell_0_0_1", f"{ENGINE}_cell_0_2_1"]},
            {"content": [f"{ADA}_title", f"{ADA}_table_caption_0", f"{ADA}_sentence_4"]},
        ],
    },
    "kilt": {
        "id": "k",
        "output": [
            {"answer": "SUPPORTS"},
            {"provenance": [{"title": ADA, "start_paragraph_id": 3}, {"title": ENGINE}]},
            {"answer": "SUPPORTS", "provenance": [{"wikipedia_id": "1", "title": ADA}]},
        ],
    },
    "pages": {"id": "g", "gold_title_sets": [[ADA, ENGINE], [ADA]], "label": "supports"},
    "hipporag": {
        "_id": "q",
        "answer": "1843",
        "supporting_facts": [[ADA, 1], [ENGINE, 0], [ADA, 2]],
        "context": [[ADA, ["Some.", "More.", "Most."]], [ENGINE, ["It is."]], ["C", ["Other."]]],
    },
    "averitec": {
        "id": "a",
        "questions": [
            {"answers": [{"answer": "Yes.", "source_url": URL}, {"answer": "It is."}]},
            {"answers": [{"answer": "No.", "source_url": "https://b.example/"}]},
            {"question": "Who?"},
        ],
    },
    "ex-fever": {"id": "x", "golden entity": "['Ada_Lovelace', 'Analytical_engine']"},
    "fool-me-twice": {"id": "m", "wikipedia_page": ADA, "gold_evidence": [{"text": "Some."}]},
    "wice": {
        "evidence": [f"(meta data) TITLE: {ADA}", "Some.", "More."],
        "supporting_sentences": [[1, 2], [2]],
        "meta": {"id": "w", "claim_title": ENGINE},
    },
    "wafer": {
        "id": "f",
        "output": [
            {"answer": URL, "provenance": [{"url": URL}]},
            {"answer": "failed verification"},
        ],
    },
}
BOTH = ((ADA, 1), (ENGINE, 0))
EVIDENCE = {
    "pairs": (BOTH,),
    "hover": (BOTH,),
    "fever": (BOTH, (("Program (machine)", 3),)),  # the third set equals the first in another order
    "feverous": (BOTH,),
    "kilt": (((ADA, None), (ENGINE, None)), ((ADA, None),)),
    "pages": (((ADA, None), (ENGINE, None)), ((ADA, None),)),
    "hipporag": (((ADA, None), (ENGINE, None)),),
    "averitec": (((URL, None), ("https://b.example/", None)),),
    "ex-fever": (((ADA, None), ("Analytical engine", None)),),
    "fool-me-twice": (((ADA, None),),),
    "wice": (((ADA, 1), (ADA, 2)), ((ADA, 2),)),
    "wafer": (((URL, None),),),
}
TEXT_FIELDS = {"kilt": "input", "hipporag": "question", "fool-me-twice": "text", "wafer": "input"}


def record(name, **changes):
    cited = f"Page [SEP] Section [SEP] Before it. {CLAIM} [CIT] After it."
    text = {TEXT_FIELDS.get(name, "claim"): cited if name == "wafer" else CLAIM}
    return {**text, **RECORDS[name], **changes}


def written(path, *records):
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("named", [True, False])
def test_every_format_is_read_and_detected(tmp_path, name, named):
    path = written(tmp_path / "gold.jsonl", record(name))
    (claim,) = read_gold(path, name if named else None)
    assert claim.claim == CLAIM
    assert claim.evidence == EVIDENCE[name]
    ids = {"hover": "h", "hipporag": "q", "wice": "w"}
    assert claim.id == ids.get(name, str(RECORDS[name].get("id")))
    assert list(read_claims(path)) == [Claim(claim.id, CLAIM)]
    assert claim.n_ignored_elements == (4 if name == "feverous" else 0)
    of_two = ("pairs", "hover", "feverous", "hipporag", "averitec", "ex-fever")
    assert claim.hops == (2 if name in of_two else 1)


def test_label_spellings_of_the_data_sets(tmp_path):
    spelled = {
        "SUPPORTED": (Label.SUPPORTS, False),
        "supports": (Label.SUPPORTS, False),
        "REFUTED": (Label.REFUTES, True),
        "refutes": (Label.REFUTES, True),
        "NOT ENOUGH INFO": (Label.NOT_ENOUGH_INFO, None),
        "NOT_SUPPORTED": (Label.NOT_SUPPORTED, None),
        "SUPPORT": (Label.SUPPORTS, False),
        "REFUTE": (Label.REFUTES, True),
        "Not Enough Evidence": (Label.NOT_ENOUGH_INFO, None),
        "Conflicting Evidence/Cherrypicking": (Label.NOT_SUPPORTED, None),
        "partially_supported": (Label.NOT_ENOUGH_INFO, None),
        None: (None, None),
    }
    records = [record("pairs", id=n, label=text) for n, text in enumerate(spelled)]
    found = list(read_gold(written(tmp_path / "gold.jsonl", *records)))
    assert [(claim.label, claim.refuted) for claim in found] == list(spelled.values())
    (kilt,) = read_gold(written(tmp_path / "kilt.jsonl", record("kilt")))
    assert kilt.label is Label.SUPPORTS
    answered = record("kilt", output=[{"answer": "1843", "provenance": [{"title": ADA}]}])
    (question,) = read_gold(written(tmp_path / "question.jsonl", answered))
    assert question.label is None
    (wice,) = read_gold(written(tmp_path / "w.jsonl", record("wice", label="not_supported")))
    assert wice.label is Label.NOT_ENOUGH_INFO
    untitled = record("wice", evidence=["(meta data) TITLE: ", "Some.", "More."])
    (wice,) = read_gold(written(tmp_path / "untitled.jsonl", untitled))
    assert wice.titles == (ENGINE,)


def test_documents_are_one_set_or_alternatives(tmp_path):
    together = {"claim": CLAIM, "gold": [ADA, ENGINE], "hops": 2, "answer": "1843"}
    (claim,) = read_gold(written(tmp_path / "g.jsonl", together))
    assert claim.evidence == (((ADA, None), (ENGINE, None)),)
    # The pages of all evidence sets: any of them may be enough.
    union = {"claim": CLAIM, "gold_pages_union": [ADA, ENGINE, ADA]}
    (claim,) = read_gold(written(tmp_path / "u.jsonl", union))
    assert claim.evidence == (((ADA, None),), ((ENGINE, None),))
    nothing = {"claim": CLAIM, "gold_pages_union": []}
    (claim,) = read_gold(written(tmp_path / "n.jsonl", nothing))
    assert claim.evidence == ()


def test_questions_of_hipporag_with_paragraphs(tmp_path):
    paragraphs = [
        {"idx": 0, "title": ENGINE, "paragraph_text": "It is.", "is_supporting": True},
        {"idx": 1, "title": "C", "paragraph_text": "Other.", "is_supporting": False},
        {"idx": 2, "title": ADA, "text": "Some."},  # supporting unless it says otherwise
        {"idx": 3, "title": ENGINE, "paragraph_text": "It was.", "is_supporting": True},
    ]
    records = [{"id": "2hop__1", "question": CLAIM, "paragraphs": paragraphs}]
    path = tmp_path / "musique.json"
    path.write_text(json.dumps([*records, {"question": "Why?", "paragraphs": []}], indent=2))
    first, second = read_gold(path)
    assert (first.id, first.claim, first.label) == ("2hop__1", CLAIM, None)
    assert first.evidence == (((ENGINE, None), (ADA, None)),)
    assert (second.id, second.evidence) == ("2", ())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"claim": CLAIM}, r":1: no gold evidence: none of the fields evidence, gold, gold_pages"),
        (record("pairs", evidence="x"), r"field 'evidence': 'x' should be a list"),
        (record("pairs", evidence=[[ADA]]), r"field 'evidence\[0\]\[1\]': is missing"),
        (
            record("pairs", evidence=[[ADA, True]]),
            r"'evidence\[0\]\[1\]': True should be a valid integer",
        ),
        (record("pairs", num_hops=0), r"field 'num_hops': 0 should be greater than or"),
        (record("pairs", num_hops=10**400), r"field 'num_hops': .*should be less than"),
        (
            record("fever", evidence=[[[1, 2, "A", None]]]),
            r"'evidence\[0\]\[0\]\[3\]': None should be",
        ),
        (
            record("feverous", evidence=[{"content": []}, 1]),
            r"'evidence\[1\]': 1 should be an object",
        ),
        (
            {"question": CLAIM, "paragraphs": [{"title": ADA, "is_supporting": 1}]},
            r"'paragraphs\[0\].is_supporting': 1 should be a valid boolean",
        ),
        (record("pairs", label="perhaps"), r"field 'label': 'perhaps' is not a label"),
        (record("pairs", claim=" "), r"field 'claim': is empty"),
        (record("hover", supporting_facts=None), r"'supporting_facts': None should be a list"),
        (record("fever", evidence=[[[1, 2, "A"]]]), r"'evidence\[0\]\[0\]\[3\]': is missing"),
        (
            record("feverous", evidence=[{"content": [f"{ADA}_3"]}]),
            r"content\[0\]': 'Ada.*not an elem",
        ),
        (record("kilt", output=[3]), r"'output\[0\]': 3 should be an object"),
        (record("pages", gold_title_sets=[ADA]), r"'Ada Lovelace' should be a list"),
        ({"claim": CLAIM, "gold": ADA}, r"field 'gold': 'Ada Lovelace' should be a list"),
        (
            record("hipporag", supporting_facts=[ADA]),
            r"'supporting_facts\[0\]': 'Ada.*should be a list",
        ),
        ({"question": CLAIM, "paragraphs": [3]}, r"'paragraphs\[0\]': 3 should be an object"),
        (record("averitec", questions=[3]), r"'questions\[0\]': 3 should be an object"),
        (
            record("ex-fever", **{"golden entity": "Ada"}),
            r"'golden entity': 'Ada' should be a list",
        ),
        (record("fool-me-twice", wikipedia_page=""), r"field 'wikipedia_page': '' is not a title"),
        (record("wice", supporting_sentences=[[3]]), r"the page has no sentence 3"),
        (record("wafer", output=[3]), r"'output\[0\]': 3 should be an object"),
        (record("wafer", input="[CIT] After it."), r"'input': has no text before \[CIT\]"),
    ],
)
def test_invalid_records_name_place_field_and_remedy(tmp_path, bad, message):
    with pytest.raises(RecordError, match=message) as caught:
        list(read_gold(written(tmp_path / "gold.jsonl", bad)))
    assert caught.value.where == f"{tmp_path / 'gold.jsonl'}:1"
    assert caught.value.remedy


def test_mixed_formats_are_rejected(tmp_path):
    path = written(tmp_path / "gold.jsonl", record("hover"), record("fever"))
    with pytest.raises(RecordError, match=r":2: field 'supporting_facts': is missing, in a file"):
        list(read_gold(path))
    path = written(tmp_path / "gold.jsonl", record("pairs"), record("fever"))
    with pytest.raises(RecordError, match=r":2: field 'evidence.*name the file's format"):
        list(read_gold(path))


def test_invalid_files_are_rejected(tmp_path):
    path = tmp_path / "gold.jsonl"
    twice = written(path, record("pairs"), record("pairs"))
    with pytest.raises(RecordError, match=r":2: field 'id': 'p' is also the id at .*:1"):
        list(read_gold(twice))
    with pytest.raises(AdmiralError, match=r"gold format 'json': there are pairs, hover"):
        list(read_gold(path, "json"))
    for text, message in (
        ("", "holds no claims"),
        ("[]", "holds no claims"),
        ("[1]", "a JSON list instead of an object"),
        ("[{}", "not a JSON list"),
        ("{", r":1: not a JSON object"),
        ("3", r':1: .*Write one object such as {"claim"'),
    ):
        path.write_text(text)
        with pytest.raises(AdmiralError, match=message):
            list(read_gold(path))
    with pytest.raises(AdmiralError, match=r"absent\.jsonl: cannot be read"):
        list(read_gold(tmp_path / "absent.jsonl"))


def test_published_files_are_claims_and_gold(tmp_path):
    """HoVer's array, FEVEROUS's empty example at the head, and CSV with cells of several lines."""
    hover = tmp_path / "hover.json"
    hover.write_text(json.dumps([record("hover"), record("hover", uid="i")], indent=4))
    questions = tmp_path / "hotpot.json"
    questions.write_text(json.dumps([record("hipporag"), record("hipporag", _id="r")]))
    empty = {"id": "", "claim": "", "label": "", "evidence": [{"content": [], "context": {}}]}
    feverous = written(tmp_path / "feverous.jsonl", empty, record("feverous", label="SUPPORTS"))
    table = tmp_path / "test.csv"
    table.write_text(
        "claim,explanation,label,golden entity\r\n"
        f'"{CLAIM}","It\nis ""so"".",REFUTE,"[\'A_B\']"\r\n'
        f"{CLAIM},,SUPPORT,\"['C', 'D']\"\r\n",
        encoding="utf-8-sig",
        newline="",
    )
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(hover.read_bytes()))
    for path, ids in (
        (hover, ["h", "i"]),
        (questions, ["q", "r"]),
        (feverous, [str(RECORDS["feverous"]["id"])]),
        (table, ["1", "2"]),
        (packed, ["h", "i"]),
    ):
        gold = list(read_gold(path))
        assert [claim.id for claim in gold] == ids
        assert list(read_claims(path)) == [Claim(claim.id, claim.claim) for claim in gold]
        with path.open("rb") as stream:
            if path is not packed:
                assert list(stream_claims(stream)) == list(read_claims(path))
        assert not is_qrels(path)
        assert not is_blind(path)
    assert [claim.evidence for claim in read_gold(table)] == [
        ((("A B", None),),),
        ((("C", None), ("D", None)),),
    ]


def test_blind_files_are_told(tmp_path):
    blind = written(tmp_path / "blind.jsonl", {"id": 1, "claim": "A."}, {"id": 2, "input": "B."})
    assert is_blind(blind)
    with pytest.raises(RecordError, match=r"no gold evidence.*add --submission FILE"):
        list(read_gold(blind))


def test_demo_claims_are_complete():
    claims = list(read_gold(DEMO))
    assert len(claims) == 85
    assert all(claim.sentences and claim.label for claim in claims)
    assert all(claim.hops == len(claim.titles) for claim in claims)


def _read(tmp_path, content):
    path = tmp_path / "qrels"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return {claim.id: dict(claim.grades) for claim in read_qrels(path)}


def test_beir_and_trec_formats(tmp_path):
    grades = {"q 1": {"d1": 2, "d_2%": 0}, "2": {"with_space": -1}}
    tsv = "q 1\td1\t2\nq 1\td_2%\t0\n\n2\twith space\t-1\r\n"
    assert _read(tmp_path, tsv) == grades
    assert _read(tmp_path, "\ufeffquery-id\tcorpus-id\tscore\n" + tsv) == grades
    trec = "q%201 0 d1 2\nq%201\tQ0\td_2%\t0\n2  0 with_space -1\n"
    assert _read(tmp_path, trec) == grades
    assert _read(tmp_path, tsv + "q 1\td1\t2\n") == grades  # judged twice, alike


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no judgements"),
        ("query-id\tcorpus-id\tscore\n", "holds no judgements"),
        ("q d 1\n", "qrels:1: is neither three columns"),
        ("q\td\t1\nq\td\tx\n", "qrels:2: field 'grade': 'x' is not an integer"),
        ("q 0 d 1.5\n", "qrels:1: field 'grade': '1.5' is not an integer"),
        ("q\td\t1\nq\td\t2\n", "qrels:2: field 'grade': 'd' also has the grade 1"),
        (b"q\td\xe9\t1\n", "qrels:1: is not UTF-8"),
    ],
)
def test_bad_files_are_errors(tmp_path, content, message):
    with pytest.raises(AdmiralError, match=message):
        _read(tmp_path, content)
