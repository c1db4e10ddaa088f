"""`admiral serve` as a process: it listens, answers and shuts down."""

import json
import re
import signal
import socket
import subprocess

import httpx
import pytest

from admiral.cli.serve import check_access
from admiral.errors import AdmiralError


def test_a_service_answers_until_it_is_terminated(environment, command, tmp_path):
    settings = [*("--threads", "1"), *("--reranker", "bm25"), *("--judge", "lexical")]
    full = [*command, "serve", "--port", "0", "--hops", "1", *settings]
    environment = {**environment, "XDG_DATA_HOME": str(tmp_path)}
    with subprocess.Popen(full, env=environment, stderr=subprocess.PIPE, text=True) as process:
        log = iter(process.stderr.readline, "")
        url = next(found[0] for line in log if (found := re.search(r"http://[\d.:]+", line)))
        response = httpx.post(f"{url}/v1/retrieve", json={"claim": "Paris is in France."})
        assert response.status_code == 200
        assert response.json()["id"] == "1"
        response = httpx.post(f"{url}/v1/uploads", files={"files": ("a.txt", b"It rained.")})
        assert response.status_code == 202
        assert (tmp_path / "admiral" / "uploads" / "a").is_dir()
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
    assert '"route": "/v1/retrieve", "status": 200' in rest
    assert all("time" in json.loads(line) for line in rest.splitlines())  # uvicorn's lines, too
    assert "Traceback" not in rest
    assert "France" not in rest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "--api-keys"),
        (["--kb", "demo", "--kb", "demo"], "two knowledge bases are named 'demo'"),
        (["--api-keys", "missing.txt"], "missing.txt: cannot be read"),
        (["--kb", "missing"], "missing"),
        (["--uploads", "x", "--no-uploads"], "--uploads and --no-uploads exclude each other"),
    ],
)
def test_bad_options_are_named(admiral, tmp_path, arguments, message):
    done = admiral("serve", *arguments, cwd=tmp_path)
    assert done.returncode != 0
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_a_port_in_use_is_reported_before_anything_is_loaded():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(AdmiralError, match=f"--port {port}: cannot be listened on"):
            check_access("127.0.0.1", port, None, False)
    check_access("127.0.0.1", port, None, False)
