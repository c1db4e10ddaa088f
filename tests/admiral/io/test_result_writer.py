import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.errors import AdmiralError
from admiral.io.result_writer import ResumableWriter
from admiral.records import Claim
from admiral.storage.atomic_files import encode_record
from tests.admiral.results import result

CLAIMS = [Claim(str(i), f"Claim number {i} with \u2028 and {chr(0xD800)}.") for i in range(6)]
SETTINGS = {"beam_size": 25, "kb": "demo"}


def answer(writer, claims):
    count = 0
    for claim in writer.pending(claims):
        writer.write(result(claim).to_json())
        count += 1
    return count


def run(path, claims=CLAIMS, *, overwrite=False):
    with ResumableWriter(path, SETTINGS, overwrite=overwrite) as writer:
        count = answer(writer, claims)
        writer.finish()
    return count


def expected(claims):
    return b"".join(encode_record(result(claim).to_json()) for claim in claims)


@given(data=st.data())
def test_records_cut_off_by_a_crash_are_written_again(tmp_path_factory, data):
    whole = expected(CLAIMS)
    cut = data.draw(st.integers(0, len(whole)))
    junk = data.draw(
        st.sampled_from([b"", b"\0" * 20, b"\0\n", b"{}\n", b"[1]\n", b"\xff\n", b"1"])
    )
    path = tmp_path_factory.mktemp("run") / "results.jsonl"
    with ResumableWriter(path, SETTINGS):
        pass  # as a run that is killed before its first record
    path.write_bytes(whole[:cut] + junk)
    done = whole[:cut].count(b"\n")
    assert run(path) == len(CLAIMS) - done
    assert path.read_bytes() == whole


def test_more_claims_resume_a_complete_run(tmp_path):
    path = tmp_path / "results.jsonl"
    assert run(path, CLAIMS[:4]) == 4
    with ResumableWriter(path, SETTINGS) as writer:
        writer.write(result(CLAIMS[4]).to_json())
    assert run(path) == 1
    assert path.read_bytes() == expected(CLAIMS)


@pytest.mark.parametrize(
    ("claims", "says"),
    [
        ([Claim("x", CLAIMS[0].text), *CLAIMS[1:]], "a record of claim '0', but no such claim"),
        ([CLAIMS[0], Claim("1", "Other."), *CLAIMS[2:]], "of claim '1' is of another text"),
        (CLAIMS[:3], "a record of claim '3', but no such claim"),
    ],
)
def test_changed_claims_are_an_error(tmp_path, claims, says):
    path = tmp_path / "results.jsonl"
    run(path)
    with pytest.raises(AdmiralError) as caught:
        run(path, claims)
    assert says in str(caught.value)
    assert "--overwrite" in str(caught.value)
    assert path.read_bytes() == expected(CLAIMS)
    assert run(path, claims, overwrite=True) == len(claims)
    assert path.read_bytes() == expected(claims)


@pytest.mark.parametrize("finished", [True, False])
def test_other_settings_are_an_error_that_names_them(tmp_path, finished):
    path = tmp_path / "results.jsonl"
    with ResumableWriter(path, SETTINGS) as writer:
        answer(writer, CLAIMS[:2])
        if finished:
            writer.finish()
    other = {"beam_size": 10, "kb": "demo", "new": True}
    with pytest.raises(AdmiralError, match=r"beam_size was 25, now 10; new was unset, now True"):
        ResumableWriter(path, other).__enter__()
    with ResumableWriter(path, other, overwrite=True) as writer:
        assert writer.finished == []
        answer(writer, CLAIMS)
        writer.finish()
    assert path.read_bytes() == expected(CLAIMS)


def test_files_of_another_origin_are_kept(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("mine\n")
    with pytest.raises(AdmiralError, match="does not say which settings made it"):
        run(path)
    assert path.read_text() == "mine\n"
    path.write_bytes(b"")  # as mktemp leaves it
    assert run(path) == len(CLAIMS)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": 99, "settings": {}}', '{"format": 1}']
)
def test_damaged_settings_are_an_error(tmp_path, content):
    path = tmp_path / "results.jsonl"
    run(path)
    path.with_name("results.jsonl.settings.json").write_text(content)
    with pytest.raises(AdmiralError, match="--overwrite"):
        run(path)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("absent/results.jsonl", r"cannot be written: No such file"),
        ("", "does not say which settings made it"),
        ("x" * 250, r"cannot be written: File name too long"),
    ],
)
def test_paths_that_cannot_be_written(tmp_path, name, says):
    with pytest.raises(AdmiralError, match=says):
        run(tmp_path / name)


def test_a_symbolic_link_is_kept(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "results.jsonl"
    link.symlink_to(tmp_path / "real" / "r.jsonl")
    run(link)
    assert link.is_symlink()
    assert (tmp_path / "real" / "r.jsonl").read_bytes() == expected(CLAIMS)


SCRIPT = """
import sys
from pathlib import Path
from tests.admiral.io.test_result_writer import run
run(Path(sys.argv[1]))
"""


def test_a_full_disk_is_one_error_and_the_run_can_be_resumed(tmp_path):
    """The kernel refuses to let the file grow in the middle of the third record."""
    path = tmp_path / "results.jsonl"
    limit = len(expected(CLAIMS[:2])) + 100

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path)],
        cwd=Path(__file__).parents[3],
        stderr=subprocess.PIPE,
        preexec_fn=small_files,
    )
    assert done.returncode == 1
    assert b"results.jsonl: cannot be written: File too large" in done.stderr
    assert path.stat().st_size == limit
    assert run(path) == len(CLAIMS) - 2
    assert path.read_bytes() == expected(CLAIMS)
