"""`admiral download` on the command line."""

import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

FILE = "hover_dev_release_v1.1.json"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture
def base(tmp_path):
    """A server with one of HoVer's files."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / FILE).write_text("[]")
    serve = partial(Quiet, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()
        thread.join()


def test_download(admiral, base, tmp_path):
    out = tmp_path / "data"
    command = ("download", "hover", "--base", base, "--out", out, "--attempts", 1)
    done = admiral(*command, "--file", FILE)
    assert (done.returncode, done.stdout.decode()) == (0, f"{out / FILE}\n")
    assert b"hotpotqa-abstracts" in done.stderr
    assert (out / FILE).read_text() == "[]"
    done = admiral(*command, "--file", FILE)
    assert done.stdout.decode() == f"{out / FILE} exists already\n"
    done = admiral(*command)
    assert done.returncode == 1
    assert b"404" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert admiral(*command, "--file", "corpus.db").returncode == 2
    assert admiral("download", "squad").returncode == 2
    assert admiral(*command, "--wait", "nan").returncode == 2


def test_addresses_are_shown(admiral, tmp_path):
    done = admiral("download", "feverous", "--list", "--out", tmp_path)
    text = done.stdout.decode()
    assert done.returncode == 0
    assert text.startswith("documented at https://fever.ai/")
    assert text.count("MD5") == 3
    assert not list(tmp_path.iterdir())


def test_download_with_standard_error_closed(command, environment, base, tmp_path):
    fetching = ["download", "hover", "--base", base, "--out", str(tmp_path), "--file", FILE]
    closing = ["sh", "-c", 'exec "$@" 2>&-', "sh"]
    done = subprocess.run([*closing, *command, *fetching], env=environment, timeout=300)
    assert done.returncode == 0
    assert (tmp_path / FILE).read_text() == "[]"
