"""Claims about files that anyone has: manual pages, packages, documentation and notes.

    python -m benchmarks.own_files --data DIR [--system bm25] [--corpus vault] [--limit 3]

Five corpora are copied from what is installed on this machine, by the rules of
`benchmarks.own_files.corpora`; those that it lacks are skipped. Each is indexed by `admiral index
FOLDER` without options. Of the hundred claims in `benchmarks/own_files/claims`, those whose gold
documents exist are answered by BM25, with `--fast` and with the default settings. A claim stopped
"complete" if the search ended as sufficient with a sentence of each gold document in its evidence.

DIR keeps the corpora, knowledge bases and results; the same command resumes.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import click

from admiral.experiments.experiment_tables import aligned
from admiral.kb import KnowledgeBase
from benchmarks.command import ADMIRAL
from benchmarks.own_files.corpora import CORPORA, copy_corpus
from benchmarks.own_files.gold_claims import write_answerable_claims
from benchmarks.own_files.systems import HEAD, SYSTEMS, describe, run


def index(corpus: str, data: Path) -> Path | None:
    """Copy and index a corpus, unless it was; return its knowledge base, None without files."""
    folder, kb = data / "corpora" / corpus, data / "kbs" / corpus
    if kb.exists():
        return kb
    files = copy_corpus(corpus, folder)
    if not files:
        return None
    click.echo(f"\n$ admiral index {folder} --kb {kb}    # {files:,} files")
    kb.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([*ADMIRAL, "index", folder, "--kb", kb], check=True)
    return kb


@click.command(help=__doc__)
@click.option(
    "--data", type=click.Path(path_type=Path), required=True, help="Folder of corpora and results."
)
@click.option(
    "--corpus", "corpora", multiple=True, type=click.Choice(list(CORPORA)), default=list(CORPORA)
)
@click.option(
    "--system", "systems", multiple=True, type=click.Choice(list(SYSTEMS)), default=list(SYSTEMS)
)
@click.option("--limit", default=0, help="Maximum number of claims of each corpus; 0 for all.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Further settings.")
def main(
    data: Path,
    corpora: tuple[str, ...],
    systems: tuple[str, ...],
    limit: int,
    settings: tuple[str, ...],
) -> None:
    """Print what `admiral index` prints, and a table of corpora, halves and systems."""
    lines = [HEAD, "|---" * HEAD.count(" | ") + "|---|"]
    for corpus in corpora:
        kb = index(corpus, data)
        if kb is None:
            click.echo(f"{corpus}: skipped, because this machine has no such files")
            continue
        out = data / "runs" / (f"{corpus}-{limit}" if limit else corpus)
        claims = out.with_suffix(".claims.jsonl")
        out.mkdir(parents=True, exist_ok=True)
        with KnowledgeBase.open(kb) as opened:
            answerable, total = write_answerable_claims(corpus, set(opened.titles()), claims)
        click.echo(f"{corpus}: {answerable} of {total} claims have all gold documents")
        if answerable:
            lines += run(describe(corpus, kb, claims, systems, limit, settings), out)
    click.echo(f"\n{aligned(lines)}")
