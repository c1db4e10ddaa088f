"""The command line end to end, with the bundled checkpoint and the demo knowledge base."""

import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.admiral.results import assert_close, without_timings
from tests.proofs.verifier.tiny_classifier import write_classifier_directory

EMMY = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."
CLAIMS = (
    {"id": "emmy", "claim": EMMY},
    {"uid": 17, "claim": "A telescope that orbits the Earth was named after an astronomer."},
    {"claim": "The river that flows through the capital of France ends in the sea."},
    {"claim": "Nobody ever described qwertyuiop."},
)
IDS = ["emmy", "17", "3", "4"]
# In bfloat16, some processors sum products in an order that depends on what is cached.
PRECISE = ("--set", "precision=fp32", "--threads", "1")
QUICKEST = ("--hops", "1", "--beam-size", "5", "--reranker", "bm25")
# In two hops, with title generation and the bundled verifier.
QUICK = (
    *("--set", "batch_size=1", "--set", "title_beams=2", "--max-hops", "2", *QUICKEST[2:]),
    *("--top-k", "20", *PRECISE),
)


def records(content):
    return [without_timings(json.loads(line)) for line in content.splitlines()]


@pytest.fixture(scope="session")
def claims_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("claims") / "claims.jsonl"
    path.write_text("".join(json.dumps(claim) + "\n" for claim in CLAIMS))
    return path


@pytest.fixture(scope="session")
def whole(admiral, claims_file, tmp_path_factory):
    """Return results, TREC run and standard error of an uninterrupted run over the file."""
    folder = tmp_path_factory.mktemp("whole")
    output, trec = folder / "results.jsonl", folder / "run.trec"
    done = admiral("retrieve", "--input", claims_file, "--output", output, "--trec", trec, *QUICK)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b""
    return output, trec, done.stderr


@pytest.fixture(scope="session")
def emmy(admiral):
    done = admiral("retrieve", "--hops", "dynamic", EMMY, "--json")
    assert done.returncode == 0, done.stderr.decode()
    (record,) = records(done.stdout)
    return record


def test_both_documents_of_the_emmy_claim_are_among_the_first_five(emmy):
    top = [document["title"] for document in emmy["documents"][:5]]
    assert {"66th Primetime Emmy Awards", "Seth Meyers"} <= set(top)


def test_the_emmy_claim_is_refuted_by_a_proof_that_quotes_its_evidence(emmy):
    assert (emmy["id"], emmy["claim"]) == ("1", EMMY)
    assert emmy["stopped"] == "sufficient"
    assert [hop["number"] for hop in emmy["hops"]] == list(range(1, len(emmy["hops"]) + 1))
    assert len(emmy["hops"]) >= 2
    assert "Seth Meyers" in [sentence["title"] for sentence in emmy["evidence"]]
    proof = emmy["hops"][-1]["proof"]
    assert {"|", "!"} & {step["operator"] for step in proof}
    texts = [part for s in emmy["evidence"] for part in (s["title"], s["text"])]
    assert all(any(step["evidence"] in text for text in texts) for step in proof)
    assert all(step["evidence"] for step in proof)
    assert emmy["verdict"]["label"] == "REFUTES"
    assert emmy["verdict"]["probabilities"]["REFUTES"] > 0.5


def test_readable_output(admiral):
    done = admiral("retrieve", EMMY, *QUICK)
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    assert text.startswith(f"Claim: {EMMY}\n\nHop 1 (")
    for part in ("[Seth Meyers]", "  Proof\n", "Stopped because ", "Documents\n 1. "):
        assert part in text
    assert b"Building index" not in done.stderr  # log messages of libraries are hidden
    assert "\x1b" not in text


def test_fast_needs_no_model_and_single_settings_override_it(admiral):
    fast = admiral("retrieve", EMMY, "--fast", "--json")
    assert fast.returncode == 0, fast.stderr.decode()
    (record,) = records(fast.stdout)
    top = [document["title"] for document in record["documents"][:3]]
    assert {"66th Primetime Emmy Awards", "Seth Meyers"} <= set(top)
    assert record["verdict"]["label"] == "REFUTES"
    assert 0 < record["verdict"]["confidence"] <= 1
    later = [group for hop in record["hops"][1:] for group in hop["document_sets"]]
    assert not later  # nothing is generated

    generating = admiral("retrieve", EMMY, "--fast", "--set", "generator=true", "--json")
    (record,) = records(generating.stdout)
    assert any(hop["document_sets"] for hop in record["hops"][1:])


def test_a_file_gives_one_record_per_claim_in_order(whole):
    output, _, stderr = whole
    got = records(output.read_bytes())
    assert [record["id"] for record in got] == IDS
    assert [record["claim"] for record in got] == [claim["claim"] for claim in CLAIMS]
    for record in got:
        assert record["stopped"] in ("sufficient", "max_hops", "dead_end")
        titles = [document["title"] for document in record["documents"]]
        assert 0 < len(titles) <= 20
        assert len(set(titles)) == len(titles)
    assert b"4 of 4 claims" in stderr


def test_the_trec_run_is_the_ranking(whole):
    from admiral.io.result_writer import unescape_title

    output, trec, _ = whole
    got = [line.split() for line in trec.read_text().splitlines()]
    want = [
        (record["id"], document["title"], rank)
        for record in records(output.read_bytes())
        for rank, document in enumerate(record["documents"], 1)
    ]
    assert [(row[0], unescape_title(row[2]), int(row[3])) for row in got] == want


def test_standard_input_and_output_agree_with_files(admiral, claims_file, whole, tmp_path):
    want = records(whole[0].read_bytes())
    trec = tmp_path / "run.trec"
    content = claims_file.read_bytes()
    done = admiral("retrieve", "-", "--json", "--trec", trec, *QUICK, stdin=content)
    assert done.returncode == 0, done.stderr.decode()
    assert records(done.stdout) == want
    assert trec.read_bytes() == whole[1].read_bytes()


def test_plain_lines_on_standard_input(admiral, whole):
    lines = "\n".join(claim["claim"] for claim in CLAIMS[:2])
    done = admiral("retrieve", "-", "--json", *QUICK, stdin=lines.encode())
    assert done.returncode == 0, done.stderr.decode()
    got, want = records(done.stdout), records(whole[0].read_bytes())[:2]
    assert [record.pop("id") for record in got] == ["1", "2"]
    assert [record.pop("id") for record in want] == IDS[:2]
    assert got == want


@pytest.mark.slow
def test_claims_on_standard_input_are_retrieved_line_by_line(environment, command):
    """The caller waits for each result before it writes the next claim, then interrupts."""
    arguments = [*command, "retrieve", "-", "--json", "--fast", "--hops", "1"]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, env=environment, stdin=pipe, stdout=pipe, stderr=pipe) as us:
        for number, claim in enumerate(CLAIMS[:2], 1):
            us.stdin.write(f"{claim['claim']}\n\n".encode())
            us.stdin.flush()
            there, _, _ = select.select([us.stdout], [], [], 60)
            assert there, "it waits for more"
            record = json.loads(us.stdout.readline())
            assert (record["id"], record["claim"]) == (str(2 * number - 1), claim["claim"])
        us.send_signal(signal.SIGINT)
        assert us.wait(timeout=30) == 130
        assert us.stderr.read().splitlines()[-1] == b"interrupted"


def test_lines_before_a_bad_one_have_results(admiral):
    lines = [json.dumps({"claim": claim["claim"]}) for claim in CLAIMS[:3]]
    content = "\n".join([*lines, '{"text": "no claim"}', *lines]).encode()
    done = admiral("retrieve", "-", "--json", *QUICKEST, stdin=content)
    assert done.returncode == 1
    assert [record["id"] for record in records(done.stdout)] == ["1", "2", "3"]
    assert done.stderr.decode().startswith("error: standard input:4: field 'claim': is missing")


def test_bad_claims_can_be_skipped(admiral):
    plain = str(CLAIMS[1]["claim"])
    lines = [plain, '{"claim": " "}', json.dumps({"id": "x", "claim": plain}), "\x00"]
    done = admiral(
        *("retrieve", "--input", "-", "--output", "-", "--skip-bad", *QUICKEST),
        stdin="\n".join(lines).encode(),
    )
    assert done.returncode == 0, done.stderr.decode()
    assert [record["id"] for record in records(done.stdout)] == ["1", "x", "4"]
    assert done.stderr.decode().splitlines()[-2:] == [
        "skipped: standard input:2: field 'claim': is empty. Write the claim as text, or leave it "
        "out",
        "1 bad claim was skipped",
    ]
    assert not Path("-").exists()


def wait_for_a_record(output, process, seconds):
    deadline = time.monotonic() + seconds
    while not (output.exists() and b"\n" in output.read_bytes()):
        assert process.poll() is None, "ended before its first record"
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_run_is_resumed(
    admiral, environment, command, claims_file, whole, tmp_path, signum
):
    output, trec = tmp_path / "results.jsonl", tmp_path / "run.trec"
    arguments = ["retrieve", "--input", claims_file, "--output", output, "--trec", trec, *QUICK]
    with subprocess.Popen(
        [*command, *map(str, arguments)], env=environment, stderr=subprocess.PIPE
    ) as process:
        wait_for_a_record(output, process, 120)
        process.send_signal(signum)
        _, stderr = process.communicate()
    if signum == signal.SIGINT:
        assert process.returncode == 130
        assert b"of 4 claims have results. Run the same command to resume." in stderr
        assert b"Traceback" not in stderr
    kept = output.read_bytes()
    answered = kept.count(b"\n")
    assert 0 < answered < 4

    done = admiral(*arguments)
    assert done.returncode == 0, done.stderr.decode()
    assert f"has results for {answered} of 4 claims already".encode() in done.stderr
    assert output.read_bytes().startswith(kept.rpartition(b"\n")[0])
    # Embeddings of the sentences of earlier claims are cached in one run and computed in the other.
    assert_close(records(output.read_bytes()), records(whole[0].read_bytes()))
    rows, wanted = (
        [line.split() for line in run.read_text().splitlines()] for run in (trec, whole[1])
    )
    assert [row[:4] for row in rows] == [row[:4] for row in wanted]

    finished = output.read_bytes()
    told = environment | {"PYTHONPROFILEIMPORTTIME": "1"}
    again = subprocess.run([*command, *map(str, arguments)], env=told, capture_output=True)
    assert again.returncode == 0
    assert b"has results for 4 of 4 claims already" in again.stderr
    assert output.read_bytes() == finished
    imported = {line.rpartition(b"|")[2].strip() for line in again.stderr.splitlines()}
    assert b"admiral.storage.atomic_files" in imported
    assert b"transformers" not in imported


def assert_one_error(done, *says):
    stderr = done.stderr.decode()
    assert done.returncode == 1, stderr
    assert done.stdout == b""
    assert stderr.startswith("error: ")
    assert len(stderr.splitlines()) == 1, stderr
    for part in says:
        assert part in stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["A.", "--set", "precision=int4"], "'int4' should be 'auto', 'fp32' or 'bf16'"),
        (["  "], "the claim: is empty"),
        ([b"caf\xe9"], "the claim: is not text"),
        (["A.", "--hops", "often"], "'often' should match pattern"),
        (["A.", "--hops", "1000"], "hops"),
        (["A.", "--top-k", "0"], "'top_k': '0' should be greater than or equal to 1"),
        (["A.", "--set", "hopps=3"], "Did you mean 'hops'?"),
        (["A.", "--set", "beam_size=x"], "'x' should be a valid integer"),
        (["A.", "--config", "absent.yaml"], "absent.yaml: cannot be read"),
        (["A.", "--judge", "judy"], "'judy' should be"),
        (["A.", "--bm25", "sqlite"], "'sqlite' should be"),
        (["A.", "--kb", "absent-kb"], "absent-kb"),
        (["A.", "--model", "absent-model"], "absent-model"),
        (["A.", "--output", "absent/results"], "cannot be written: No such file"),
        (["A.", "--output", "."], "does not say which settings made it"),
        (["--input", "absent.jsonl"], "absent.jsonl: cannot be read"),
        (["--input", "bad.jsonl"], "bad.jsonl:2: field 'claim': is missing"),
        (["-"], "standard input: holds no claims"),
    ],
)
def test_bad_input_is_one_error(admiral, tmp_path, arguments, says):
    (tmp_path / "bad.jsonl").write_text('{"claim": "A."}\n{"text": "B."}\n')
    before = sorted(os.listdir(tmp_path))
    done = admiral("retrieve", *map(os.fsdecode, arguments), cwd=tmp_path)
    assert_one_error(done, says)
    assert sorted(os.listdir(tmp_path)) == before


def test_closed_standard_input_is_reported(admiral_process):
    done = admiral_process("retrieve", "-", "--json", preexec_fn=lambda: os.close(0))
    assert_one_error(done, "standard input: is closed")


@pytest.mark.slow
def test_a_run_on_ray_resumes_a_local_one_and_equals_it(admiral, claims_file, whole, tmp_path):
    pytest.importorskip("ray")
    output = tmp_path / "results.jsonl"
    arguments = ["retrieve", "--output", output, *QUICK]
    first = tmp_path / "first.jsonl"
    first.write_text(json.dumps(CLAIMS[0]) + "\n")
    assert admiral(*arguments, "--input", first).returncode == 0
    kept = output.read_bytes()
    done = admiral(*arguments, "--input", claims_file, "--engine", "ray", "--workers", "1")
    assert done.returncode == 0, done.stderr.decode()
    assert output.read_bytes().startswith(kept)
    got, want = records(output.read_bytes()), records(whole[0].read_bytes())
    assert [record["id"] for record in got] == IDS
    for one, other in zip(got, want, strict=True):
        assert [d["title"] for d in one["documents"]] == [d["title"] for d in other["documents"]]
        assert one["stopped"] == other["stopped"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--engine", "ray"], "--engine ray needs --output"),
        (["--output", "results", "--workers", "2"], "--workers needs --engine ray"),
        (["--output", "results", "--gpus-per-worker", "0"], "--gpus-per-worker needs --engine ray"),
    ],
)
def test_options_that_go_together(admiral, tmp_path, arguments, says):
    if "ray" in arguments:
        pytest.importorskip("ray")
    done = admiral("retrieve", "A claim.", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


def test_a_verifier_adds_probabilities_and_a_stop_rule(admiral, tmp_path):
    folder = write_classifier_directory(tmp_path / "model")
    given = ("retrieve", EMMY, "--fast", "--json", "--set", f"verifier={folder}")
    for stop_at in ("0.000001", "1"):
        done = admiral(*given, "--stop-at", stop_at, "--max-hops", "2")
        assert done.returncode == 0, done.stderr.decode()
        (record,) = records(done.stdout)
        assert all(0 < hop["probability"] < 1 for hop in record["hops"])
        verdict = record["verdict"]
        assert verdict == record["hops"][-1]["verdict"]
        values = verdict["probabilities"]
        likeliest = max(values, key=values.__getitem__)
        assert verdict["label"] == ("NOT ENOUGH INFO" if stop_at == "1" else likeliest)
        decided = verdict["label"] != "NOT ENOUGH INFO"
        assert record["stopped"] == ("sufficient" if decided else "max_hops")
        assert sum(values.values()) == pytest.approx(1, abs=1e-5)
