"""The program that fits the weights of citations, from files of claims to verdicts with them."""

import json

import pytest
from click.testing import CliRunner

from admiral.citations import Citation, CitationConfig, CitedClaim, Citer
from admiral.citations.source_search import LoadedSources
from admiral.citations.term_weights import TermWeights
from tests.admiral.citations.cited_pages import BRIDGE
from training.citations import FEATURES, main

PLACES = ("Arden", "Belmar", "Corvin", "Dunmore", "Elgin", "Farrow", "Galen", "Hollis", "Ixton")
#: A claim of each label about a place and its number.
CLAIMS = {
    "supported": "The bridge of {0} was opened in 19{1} and crosses the river.",
    "partially_supported": "The bridge of {0} was opened in 19{1} by Zoe Quill of Zanzibar.",
    "not_supported": "Zoe Quill painted portraits of horses in Zanzibar in 1802.",
}


def evidence(place, number):
    return [
        f"(meta data) TITLE: {place}",
        f"The bridge of {place} was opened in 19{number} and crosses the river Orr.",
        f"{place} has a harbour, a market and a museum of nets and boats.",
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("citations")
    citations, tokens = [], []
    for number, place in enumerate(PLACES, 30):
        for label, text in CLAIMS.items():
            claim = text.format(place, number)
            meta = {"claim_title": f"{place} ({label})", "claim_section": "", "claim_context": ""}
            record = {
                "label": label,
                "claim": claim,
                "evidence": evidence(place, number),
                "supporting_sentences": [] if label == "not_supported" else [[1]],
                "meta": {"id": f"{place}-{label}", **meta},
            }
            citations.append(record)
            words = claim.split()
            if label == "partially_supported":
                unsupported = [at >= words.index("by") for at in range(len(words))]
                marks = {"claim_tokens": words, "non_supported_spans": unsupported}
                tokens.append(record | marks)
    for name, records in (("citations", citations), ("tokens", tokens)):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def fit(files, out):
    inputs = ["--citations", files / "citations.jsonl", "--tokens", files / "tokens.jsonl"]
    arguments = [*inputs, "--out", out, "--precision", "fp32"]
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_fitted_weights_are_read_and_tell_support(files, tmp_path):
    out = tmp_path / "weights.json"
    done = fit(files, out)
    assert done.exit_code == 0, done.output
    assert "fitted on 27 citations and 9 claims" in done.output
    weights = json.loads(out.read_text())
    assert set(weights["mixed"]) == set(FEATURES)
    assert weights["mixed"]["coverage"]["weight"] > 0 > weights["mixed"]["uncovered"]["weight"]
    config = CitationConfig(
        weights=str(out),
        precision="fp32",
        suggest=False,
        not_found=0.0,
        missing_below=1.0,
        contradicted=1.0,
    )
    citer = Citer(LoadedSources([BRIDGE]), TermWeights.background(), config)
    good, partly = (
        citer.verify(CitedClaim("1", text, citations=(Citation(BRIDGE.url),))).existing[0]
        for text in (
            "The Eastern Bridge was opened in 1932.",
            "The Eastern Bridge was opened in 1932 by Zoe Quill of Zanzibar.",
        )
    )
    assert good.score is not None and partly.score is not None
    assert good.score > partly.score
    assert good.probability is not None and good.probability > 0.5
    assert good.missing == ()
    assert "Zoe Quill of Zanzibar" in " ".join(partly.missing)
    before = out.read_bytes()
    assert fit(files, out).exit_code == 0
    assert out.read_bytes() == before


def test_files_of_another_kind_are_named(files, tmp_path):
    other = tmp_path / "citations.jsonl"
    other.write_text('{"claim": "x"}\n')
    (tmp_path / "tokens.jsonl").write_bytes((files / "tokens.jsonl").read_bytes())
    done = fit(tmp_path, tmp_path / "weights.json")
    assert done.exit_code == 1
    assert f"{other}:1" in done.output
