"""The page of results: tables and plots of recorded experiments, beside the paper's figures.

Run as ``python -m benchmarks.results_page RUNS --docs docs``. RUNS is a folder below which runs of
`admiral experiment` lie. It writes ``results.md`` and the plots that it shows. The introduction of
the page, above its first section, may be changed by hand and is kept. A run takes the place of the
section with the same command, whatever its limit of claims; other sections stay, as a run may take
hours.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from admiral.errors import AdmiralError
from admiral.experiments.experiment_record import FORMAT, RECORD_NAME
from admiral.experiments.experiment_tables import differences, measured, published
from admiral.storage.atomic_files import write_atomically
from benchmarks.results_plots import plots

Record = dict[str, Any]
# The order of the page; experiments of one's own come last.
_ORDER = ("demo", "baselines", "ablations", "table", "efficiency")
_SECTION = "\n## "
_COMMAND = "    admiral experiment configs/experiments/"
_HEAD = """# Results

Written by `python -m benchmarks.results_page RUNS --docs docs` from runs of `admiral experiment`;
do not edit its sections. In brackets are 95% intervals, by bootstrap over claims; seconds and
memory are of the machine that each section names. Recall, exact match and F1 are of documents.

"Insufficient precision" and "recall" say how well the stopping rule tells incomplete evidence, over
all hops that were made; evidence is complete when it has a sentence of every gold document.
"""


def read_runs(folder: Path) -> list[Record]:
    """Return the recorded experiments below a folder in the order of the page.

    Raises
    ------
    AdmiralError
        If there is none, or one is damaged or of another format.
    """
    records = []
    for path in sorted(folder.rglob(RECORD_NAME)):
        try:
            record = json.loads(path.read_bytes())
            known = record["format"] == FORMAT
        except (ValueError, KeyError, TypeError) as error:
            raise AdmiralError(f"{path}: damaged ({error}). Run the experiment again") from error
        if not known:
            raise AdmiralError(f"{path}: format {record['format']}, not {FORMAT}. Run it again")
        records.append((_place(record["file"]), path, {**record, "folder": path.parent.name}))
    if not records:
        raise AdmiralError(f"{folder}: holds no {RECORD_NAME}. Run `admiral experiment` first")
    return [record for *_, record in sorted(records, key=lambda one: one[:2])]


def _place(file: str) -> tuple[int, str]:
    places = [at for at, start in enumerate(_ORDER) if file.startswith(start)]
    return (places[0] if places else len(_ORDER)), file


def section(record: Record) -> Iterator[str]:
    """Yield the lines of an experiment: what was run, its table, its plots, the paper's table."""
    yield f"## {record['title']}"
    yield ""
    yield _command(record)
    yield ""
    yield from _facts(record)
    yield ""
    yield from measured(record)
    if record.get("reference"):
        yield ""
        yield from differences(record)
    for name, title, _ in plots(record):
        yield ""
        yield f"![{title}](results/{name})"
    if record["paper"]:
        yield ""
        yield from published(record["paper"])


def _command(record: Record) -> str:
    command = f"{_COMMAND}{record['file']}"
    if record["task"] != "demo":
        command += " --data DATA"
    for one in record["overrides"]:
        key, _, value = one.partition("=")
        command += f" --set {key}={Path(value).name}"  # folders are the machine's
    return command


def _facts(record: Record) -> Iterator[str]:
    claims, seed = record["claims"], record["seeds"]["bootstrap"]
    bases = {system["kb"]["name"]: system["kb"] for system in record["systems"]}
    for name, base in bases.items():
        yield f"- {base['documents']:,} documents, BM25 by {base['bm25']} (`{name}`)"
    yield f"- {claims['used']} claims of `{claims['file']}`, sha256 {claims['sha256'][:12]}…"
    runs = dict.fromkeys(_surroundings(system["run"]) for system in record["systems"])
    yield from (f"- {run}; seed of the bootstrap {seed}" for run in runs)
    of_note: dict[str, list[str]] = {}
    for system in record["systems"]:
        for note in system["notes"]:
            of_note.setdefault(note, []).append(system["name"])
    for note, names in of_note.items():
        everyone = len(names) == len(record["systems"])
        yield f"- {note}" if everyone else f"- {', '.join(names)}: {note}"
    # Misspelt, or of none of the claims that the limit left: which, the page cannot know.
    evaluated = {group["name"] for system in record["systems"] for group in system["groups"]}
    for name in record["groups"]:
        if name not in evaluated:
            there = ", ".join(sorted(evaluated))
            yield f"- no claim is of the group '{name}' (groups are {there})"


def _surroundings(run: Record) -> str:
    commit = run["commit"] or "unknown"
    changed = " with changes" if commit.endswith("+") else ""
    packages = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    return f"{run['date']}, {run['hardware']}; commit {commit[:12]}{changed}; {packages}"


def page(records: Sequence[Record], before: str = "") -> str:
    """Return the page as Markdown.

    Parameters
    ----------
    records
        Recorded experiments.
    before
        The existing page. Its introduction is kept, and so are sections that no record replaces.

    Raises
    ------
    AdmiralError
        If the page before has a section without a command, or two records are of one command.
    """
    head, *texts = (before or _HEAD).split(_SECTION)
    sections = {_key(text): text for text in texts}
    folders: dict[Any, str] = {}
    for record in records:
        text = "\n".join(section(record)).removeprefix(_SECTION.strip() + " ")
        key, folder = _key(text), record["folder"]
        if folders.setdefault(key, folder) != folder:
            raise AdmiralError(
                f"{folders[key]} and {folder} are runs of one experiment, but for their limits. "
                "Leave one out"
            )
        sections[key] = text
    ordered = [_SECTION + sections[key].strip("\n") + "\n" for key in sorted(sections)]
    return "".join([head.rstrip("\n") + "\n", *ordered]).replace("\n\n\n", "\n\n")


def _key(text: str) -> tuple[tuple[int, str], str]:
    """Return a section's place in the page's order, and its command without the limit."""
    title, *lines = text.split("\n")
    command = next((line for line in lines if line.startswith(_COMMAND)), None)
    if command is None:
        raise AdmiralError(
            f"results.md: there is no command below '## {title}'. Delete the section"
        )
    file = command.removeprefix(_COMMAND).split()[0]
    return _place(file), re.sub(r" --set limit=\S+", "", command)


@click.command()
@click.argument("runs", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--docs", type=click.Path(path_type=Path, exists=True, file_okay=False), required=True
)
def main(runs: Path, docs: Path) -> None:
    """Write DOCS/results.md and its plots from the experiments below RUNS."""
    target, pictures = docs / "results.md", docs / "results"
    records = read_runs(runs)
    text = page(records, target.read_text("utf-8") if target.exists() else "")
    pictures.mkdir(exist_ok=True)
    wanted: dict[str, str] = {}
    for record in records:
        for name, _, picture in plots(record):
            if name in wanted or text.count(f"](results/{name})") > 1:
                raise AdmiralError(
                    f"{runs}: two runs are called {record['folder']!r}. Rename the folder of one"
                )
            wanted[name] = picture
    for old in pictures.glob("*.svg"):
        if f"](results/{old.name})" not in text:
            old.unlink()
    for name, picture in wanted.items():
        write_atomically(pictures / name, [picture.encode()])
    write_atomically(target, [text.encode()])


if __name__ == "__main__":
    try:
        main()
    except AdmiralError as error:
        sys.exit(f"error: {error}")
