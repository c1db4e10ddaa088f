"""The command that builds training samples."""

import gzip
import json
from collections import Counter
from functools import partial
from importlib import resources
from pathlib import Path

import pytest

from admiral.gold import Label, read_gold
from proofs import NatOp, Verdict
from tests.proofs.verifier.fixed_verifier import FixedVerifier
from tests.proofs.verifier.tiny_classifier import write_classifier_directory
from tests.training.tiny import CLAIMS, run_program
from training import build_data, build_examples, build_proofs
from training.build_proofs import confirmed_proofs
from training.data.claim_sources import is_held_out
from training.data.evidence_corpora import JudgedEvidence
from training.data.examples import read_examples
from training.data.samples import ProveSample, read_samples

run = partial(run_program, build_data.main)


def few(path, count=6):
    path.write_text("".join(CLAIMS.read_text("utf-8").splitlines(keepends=True)[:count]))
    return path


def missing_claims(tmp_path):
    path = few(tmp_path / "claims.jsonl")
    record = {"id": "gone", "claim": "Gone.", "label": "SUPPORTED", "evidence": [["Nowhere", 0]]}
    path.write_text(json.dumps(record) + "\n" + path.read_text())
    return path


def test_samples_are_reproducible(kb_path, tmp_path):
    claims, out = few(tmp_path / "claims.jsonl"), tmp_path / "samples.jsonl"
    arguments = ("--kb", kb_path, "--source", f"gold:{claims}", "--source", f"pairs/prove:{claims}")
    done = run(*arguments, out)
    assert done.exit_code == 0, done.output
    assert "claims: 6 used" in done.output
    first = out.read_bytes()
    assert run(*arguments, out).exit_code == 0 and out.read_bytes() == first
    assert run(*arguments, "--seed", 1, out).exit_code == 0 and out.read_bytes() != first
    assert {type(sample).__name__ for sample in read_samples(out)} == {
        "RetrieveSample",
        "RerankSample",
        "ProveSample",
    }


def test_claims_that_share_a_document_with_excluded_ones_are_left_out(kb_path, tmp_path):
    claims, held, out = few(tmp_path / "claims.jsonl"), tmp_path / "held.jsonl", tmp_path / "out"
    held.write_text(claims.read_text("utf-8").splitlines(keepends=True)[1], "utf-8")
    kept_out = set(next(read_gold(held)).titles)
    done = run("--kb", kb_path, "--source", f"gold:{claims}", "--exclude", held, out)
    assert done.exit_code == 0, done.output
    left = [c for c in read_gold(claims) if kept_out.isdisjoint(c.titles)]
    assert f"claims: {len(left)} used, {6 - len(left)} excluded" in done.output or (
        f"claims: {6 - len(left)} excluded, {len(left)} used" in done.output
    )
    texts = {sample.claim for sample in read_samples(out)}
    assert texts and texts <= {c.claim for c in left}
    gone = run("--kb", kb_path, "--source", f"gold:{claims}", "--exclude", tmp_path / "no", out)
    assert gone.exit_code != 0 and "no" in gone.output and "Traceback" not in gone.output


PPDB = "[VBD] ||| wed ||| married ||| Score=3.2 ||| 0-0 ||| Equivalence\n"
MARRIED = ("Ada Quill", "Ada Quill was born in Oslo and married Bo Lind in Bergen.")
WED = "Ada Quill wed Bo Lind in Oslo."


def test_proofs_are_annotated_by_the_given_lexicon(kb_path, tmp_path):
    words, claims, pages = (tmp_path / name for name in ("ppdb", "claims.jsonl", "pages.jsonl"))
    title, sentence = MARRIED
    words.write_text(PPDB)
    pages.write_text(json.dumps({"title": title, "sentences": [sentence]}) + "\n")
    claims.write_text(json.dumps({"claim": WED, "label": "SUPPORTED", "evidence": [[title, 0]]}))
    arguments = ("--kb", kb_path, "--documents", pages, "--source", f"gold/prove:{claims}")
    quoted = []
    for lexicon in ((), ("--paraphrases", words)):
        done = run(*arguments, *lexicon, tmp_path / "out.jsonl")
        assert done.exit_code == 0, done.output
        sample = next(iter(read_samples(tmp_path / "out.jsonl")))
        quoted.append([step.evidence for step in sample.proof.steps])
    assert quoted == [
        ["Ada Quill", "Bo Lind", "in Oslo"],
        ["Ada Quill", "married Bo Lind", "in Oslo"],
    ]
    done = run(*arguments, "--antonyms", tmp_path / "none", tmp_path / "out.jsonl")
    assert done.exit_code == 1 and "'antonyms'" in done.output and "none" in done.output


def test_context_changes_proofs_only(kb_path, tmp_path):
    claims, out = few(tmp_path / "claims.jsonl", 3), tmp_path / "samples.jsonl"
    arguments = ("--kb", kb_path, "--source", f"gold:{claims}")
    assert run(*arguments, out).exit_code == 0
    by_words = list(read_samples(out))
    done = run(*arguments, "--context", "mini", out)
    assert done.exit_code == 0, done.output
    by_context = list(read_samples(out))
    proofs = 0
    for one, other in zip(by_words, by_context, strict=True):
        if isinstance(one, ProveSample) and isinstance(other, ProveSample):
            proofs += 1
            assert (one.claim, one.evidence) == (other.claim, other.evidence)
            assert one.proof.sufficient is other.proof.sufficient
            other.proof.validate(other.claim, other.evidence)
        else:
            assert one == other
    assert proofs


def test_failed_runs_leave_no_file(kb_path, tmp_path):
    claims = few(tmp_path / "claims.jsonl", 2)
    nowhere = tmp_path / "none" / "samples.jsonl"
    done = run("--kb", kb_path, "--source", f"gold:{claims}", nowhere)
    assert done.exit_code == 1 and f"{nowhere}: its folder does not exist" in done.output
    done = run("--kb", kb_path, "--source", f"gold:{claims}", tmp_path)
    assert done.exit_code == 1 and f"{tmp_path}: is not a regular file" in done.output
    claims.write_text(claims.read_text() + '{"claim": 5}\n')
    done = run("--kb", kb_path, "--source", f"gold:{claims}", tmp_path / "samples.jsonl")
    assert done.exit_code == 1 and "Traceback" not in done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claims.jsonl"]


def test_missing_gold_is_an_error_or_left_out(kb_path, tmp_path):
    claims, out = missing_claims(tmp_path), tmp_path / "samples.jsonl"
    arguments = ("--kb", kb_path, "--source", f"gold:{claims}")
    done = run(*arguments, out)
    assert done.exit_code == 1 and not out.exists()
    assert "claim 'gone': there is no document 'Nowhere'" in done.output
    assert "--missing skip" in done.output
    done = run(*arguments, "--missing", "list", out)
    assert done.exit_code == 0, done.output
    assert "claim 'gone' is left out" in done.output and "1 missing" in done.output
    done = run(*arguments, "--missing", "skip", out)
    assert done.exit_code == 0 and "'gone'" not in done.output
    assert "Gone." not in {sample.claim for sample in read_samples(out)}


def test_additional_documents_provide_missing_gold(kb_path, tmp_path):
    claims, pages = missing_claims(tmp_path), tmp_path / "pages.jsonl"
    page = {"title": "Nowhere", "sentences": ["It is [[Utopia|a place]] in [[Erewhon]]."]}
    pages.write_text(json.dumps(page) + "\n")
    out = tmp_path / "samples.jsonl"
    done = run("--kb", kb_path, "--source", f"gold:{claims}", "--documents", pages, out)
    assert done.exit_code == 0, done.output
    texts = {text for sample in read_samples(out) for _, text in sample.evidence}
    assert "It is a place in Erewhon." in texts


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--source", "hover:nowhere.jsonl"], "nowhere.jsonl"),
        (["--source", "claims.jsonl"], "not FORMAT:FILE"),
        (["--source", "gold:x", "--negatives", "beams"], "go together"),
        (["--source", "gold:x", "--model", "mini"], "go together"),
        ([], "Missing option '--source'"),
        (["--source", "gold:x", "--splits", "-1"], "--splits"),
        (["--source", "gold:x", "--rerankings", "-1"], "--rerankings"),
        (["--source", "gold:x", "--rerank-documents", "1"], "--rerank-documents"),
        (["--source", "gold:x", "--sentences", "11"], "--sentences"),
    ],
)
def test_bad_arguments_are_errors(kb_path, tmp_path, arguments, problem):
    done = run("--kb", kb_path, *arguments, tmp_path / "out.jsonl")
    assert done.exit_code != 0 and problem in done.output
    assert "Traceback" not in done.output and list(tmp_path.iterdir()) == []


build = partial(run_program, build_examples.main)


def nli(folder):
    folder.mkdir()
    for source in ("snli", "sick"):
        records = [
            {"premise": "A.", "hypothesis": f"B {n}.", "label": "neutral", "source": source}
            for n in range(40)
        ]
        with gzip.open(folder / f"{source}.train.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
    return folder


def test_examples_are_reproducible(kb_path, tmp_path):
    out = tmp_path / "examples.jsonl"
    arguments = ("--nli", nli(tmp_path / "nli"), "--kb", kb_path, "--source", f"gold:{CLAIMS}")
    arguments += ("--worlds", 30, out)
    done = build(*arguments)
    assert done.exit_code == 0, done.output
    examples = list(read_examples([out]))
    assert {one.source for one in examples} == {"snli", "demo-claims", "worlds"}
    assert "worlds: " in done.output
    assert f"{len(examples)} examples" in done.output
    first = out.read_bytes()
    assert build(*arguments).exit_code == 0
    assert out.read_bytes() == first


def test_held_out_claims_and_excluded_documents_are_left_out(kb_path, tmp_path):
    out, folder = tmp_path / "examples.jsonl", nli(tmp_path / "nli")
    assert build("--nli", folder, "--non-commercial", "--hold-out", 0.5, out).exit_code == 0
    examples = list(read_examples([out]))
    assert {one.source for one in examples} == {"snli", "sick"}
    assert not any(is_held_out(one.claim, 0.5) for one in examples)
    source = ("--kb", kb_path, "--source", f"gold:{CLAIMS}")
    done = build(*source, "--exclude", CLAIMS, "--worlds", 5, out)
    assert done.exit_code == 0, done.output
    assert {one.source for one in read_examples([out])} == {"worlds"}
    select = ("--kb", kb_path, "--select", f"gold:{CLAIMS}")
    assert build(*select, out).exit_code == 0
    selection = list(read_examples([out]))
    assert {(one.source, one.label) for one in selection} == {
        ("demo-claims-selection", "unlabelled")
    }
    assert build(*select, "--hold-out", 0.5, out).exit_code == 0
    kept = {one.claim for one in read_examples([out])}
    assert kept == {one.claim for one in selection if not is_held_out(one.claim, 0.5)}
    done = build(*select, "--exclude", CLAIMS, out)
    assert done.exit_code == 1
    assert "no examples are left" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to build from"),
        (("--worlds", 3, "--limit", "worlds=much"), "is not SOURCE=COUNT"),
        (("--source", "hover"), "is not FORMAT:FILE"),
    ],
)
def test_bad_input_is_an_error(kb_path, tmp_path, arguments, message):
    done = build("--kb", kb_path, *arguments, tmp_path / "examples.jsonl")
    assert done.exit_code != 0
    assert message in done.output
    assert not (tmp_path / "examples.jsonl").exists()


def test_examples_that_name_an_excluded_document_are_left_out(tmp_path):
    folder, out = nli(tmp_path / "nli"), tmp_path / "examples.jsonl"
    record = {"premise": "A.", "hypothesis": "He met Seth Meyers.", "label": "neutral"}
    with gzip.open(folder / "met.train.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({**record, "source": "met"}) + "\n" for _ in range(3))
    assert build("--nli", folder, out).exit_code == 0
    assert {one.source for one in read_examples([out])} == {"snli", "met"}
    done = build("--nli", folder, "--exclude", CLAIMS, out)
    assert done.exit_code == 0, done.output
    assert "3 of 3 left out: excluded" in done.output
    assert {one.source for one in read_examples([out])} == {"snli"}


def test_passages_and_twins_of_claims_and_pairs(kb_path, tmp_path):
    out, pairs = tmp_path / "examples.jsonl", tmp_path / "pairs.jsonl"
    sentence = "He went to school in India and moved to England with his family in 1964."
    labels = {"He moved in 1964.": "entailment", "He moved in 1966.": "contradiction"}
    records = [
        {"premise": sentence, "hypothesis": claim, "label": label, "source": "pairs"}
        for claim, label in labels.items()
    ]
    pairs.write_text("".join(json.dumps(record) + "\n" for record in records))
    arguments = ("--kb", kb_path, "--passage", f"nli:{pairs}", "--passage", f"gold:{CLAIMS}")
    done = build(*arguments, "--bridge-twins", f"gold:{CLAIMS}", out)
    assert done.exit_code == 0, done.output
    by_source = Counter(one.source for one in read_examples([out]))
    assert set(by_source) == {"pairs-passage", "demo-claims-passage", "demo-claims-twins"}
    assert by_source["demo-claims-twins"] % 2 == 0
    done = build(*arguments, "--exclude", CLAIMS, out)
    assert done.exit_code == 1
    assert "no examples are left" in done.output


DEMO = Path(str(resources.files("admiral"))) / "data" / "demo" / "claims.jsonl"
QUILL = ("Ada Quill", "Ada Quill was an Irish engineer.")
TOWER = ("Port Merrow Lighthouse", "The lighthouse was built by Ada Quill.")
CLAIM = "The lighthouse was built by an American engineer."


@pytest.mark.parametrize(
    ("label", "said", "verdict"),
    [
        (Label.SUPPORTS, "entailment", Verdict.SUPPORTS),
        (Label.REFUTES, "contradiction", Verdict.REFUTES),
        (Label.NOT_SUPPORTED, "contradiction", Verdict.REFUTES),
        (Label.NOT_ENOUGH_INFO, "neutral", Verdict.NOT_ENOUGH_INFO),
        (Label.SUPPORTS, "neutral", None),
        (Label.NOT_SUPPORTED, "entailment", None),
    ],
)
def test_a_proof_has_the_verdict_that_label_and_verifier_agree_on(label, said, verdict):
    example = JudgedEvidence(CLAIM, (TOWER, QUILL), True, label, 2)
    proofs = list(confirmed_proofs(FixedVerifier.certain(said), [example] * 20))
    if verdict is None:
        assert not proofs
        return
    assert len(proofs) == 20
    for sample in proofs:
        sample.proof.validate(CLAIM, sample.evidence)
        assert sample.proof.verdict() is verdict
        independent = NatOp.INDEPENDENCE in sample.proof.operators
        assert independent is (verdict is Verdict.NOT_ENOUGH_INFO)


def test_the_program_writes_samples_that_training_reads(user_cache, tmp_path):
    verifier, out = write_classifier_directory(tmp_path / "model"), tmp_path / "proofs.jsonl"
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(DEMO.read_text().splitlines(keepends=True)[::5]))
    given = ("--source", f"gold:{gold}", "--verifier", verifier, out)
    run_program(build_proofs.main, *given)
    samples = list(read_samples(out))
    assert samples
    assert all(isinstance(sample, ProveSample) for sample in samples)
    first = out.read_bytes()
    run_program(build_proofs.main, *given)
    assert out.read_bytes() == first
    run_program(build_proofs.main, "--hold-out", 0.5, *given)
    assert 0 < len(list(read_samples(out))) < len(samples)
