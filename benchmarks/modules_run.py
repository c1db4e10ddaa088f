"""Count the modules that one claim, one audit and one training step load and enter.

Run as ``python -m benchmarks.modules_run``; ``--list`` names them. A module is a file of `admiral`,
`trie`, `proofs` or `training`. It is loaded if its code at module level runs, and entered if one of
its functions is called, as `sys.setprofile` reports. Each case runs in a process of its own.
"""

from __future__ import annotations

import inspect
import json
import runpy
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, FrameType

import click

ROOT = Path(__file__).parents[1]
PACKAGES = tuple(f"{ROOT / name}/" for name in ("admiral", "trie", "proofs", "training"))
_DATA = ROOT / "admiral" / "data"
_CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."


def profile(program: str, arguments: list[str], report: Path) -> None:
    """Run a module as a program and write which files were loaded and entered."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    sys.argv = [program, *arguments]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if ended.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    # The code of modules and classes is not optimised, that of functions is.
    functions = {code.co_filename for code in codes if code.co_flags & inspect.CO_OPTIMIZED}
    files = {"loaded": {code.co_filename for code in codes}, "entered": functions}
    own = {k: sorted(name for name in v if name.startswith(PACKAGES)) for k, v in files.items()}
    report.write_text(json.dumps(own))


def run(*arguments: object) -> None:
    """Run a module as a program in a process of its own."""
    command = [sys.executable, "-m", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def cases(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return the programs to count, with their arguments; what they need is made in `folder`."""
    sources, samples = folder / "sources", folder / "samples.jsonl"
    pages = _DATA / "citations"
    run("admiral", "index", "--sources", pages / "sources.jsonl", "--kb", sources)
    gold = folder / "gold.jsonl"
    claims = (_DATA / "demo" / "claims.jsonl").read_text(encoding="utf-8").splitlines(True)
    gold.write_text("".join(claims[:8]), encoding="utf-8")
    run("training", "build_data", "--kb", "demo", "--source", f"gold:{gold}", samples)
    config = folder / "joint.yaml"
    settings = {"start": "mini", "samples": str(samples), "out": str(folder / "trained")}
    config.write_text(json.dumps({**settings, "steps": 1, "warmup_steps": 0, "eval_every": 0}))
    page = pages / "pages" / "Apollo_13.wiki"
    return {
        "one claim": ("admiral", "retrieve", _CLAIM),
        "one audit": ("admiral", "audit", page, "--kb", sources, "--output", folder / "a.html"),
        "one training step": ("training", "joint", "--config", config),
    }


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--list", "names", is_flag=True, help="Name the modules that are entered.")
@click.option("--profile", "report", type=click.Path(path_type=Path), hidden=True)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def main(names: bool, report: Path | None, command: tuple[str, ...]) -> None:
    """Print how many modules each case loads and enters."""
    if report is not None:
        profile(command[0], list(command[1:]), report)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        click.echo("| case | loaded | entered |\n|---|---|---|")
        for case, program in cases(folder).items():
            report = folder / "report.json"
            run("benchmarks.modules_run", "--profile", report, *program)
            files = json.loads(report.read_text())
            click.echo(f"| {case} | {len(files['loaded'])} | {len(files['entered'])} |")
            if names:
                for file in files["entered"]:
                    click.echo(f"  {Path(file).relative_to(ROOT)}", err=True)


if __name__ == "__main__":
    main()
