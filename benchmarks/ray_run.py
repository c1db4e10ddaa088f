"""A run on two Ray nodes of which one is killed, beside the local run over the same claims.

    python -m benchmarks.ray_run --count 2000

Claims are synthesised over the knowledge base, and repeated under other ids where it gives too few.
Both runs are the command line's, in processes of their own. The second node is killed with all its
workers, without a warning, when a third of the claims are answered, and never comes back. Records
count as equal if all but the timings is the same and no score is more than 0.001 away: on some
processors scores of batches of other sizes differ in their last digits.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import click

from admiral.errors import AdmiralError
from admiral.storage.atomic_files import encode_record
from benchmarks.command import ADMIRAL

_TOLERANCE = 1e-3


def write_claims(path: Path, kb: str, count: int) -> int:
    """Write so many claims over a knowledge base; return how many texts there are among them.

    Where it gives fewer, they are repeated.
    """
    made = path.with_name("synthesised.jsonl")
    command = [*ADMIRAL, "synthesize", "--kb", kb, "--count", str(count), "--output", str(made)]
    # The status is 1, too, where there are fewer than asked for: those are written then.
    done = subprocess.run([*command, "--quiet"], check=False)
    if not made.exists():
        done.check_returncode()
    texts = list(dict.fromkeys(json.loads(line)["claim"] for line in made.open("rb")))
    with path.open("wb") as file:
        for number, text in enumerate(islice(cycle(texts), count)):
            file.write(encode_record({"id": f"c{number}", "claim": text}))
    return min(len(texts), count)


def local_run(arguments: Sequence[str], output: Path) -> float:
    """Answer the claims in one process; return the seconds."""
    began = time.monotonic()
    subprocess.run([*ADMIRAL, *arguments, "--output", str(output)], check=True)
    return time.monotonic() - began


def ray_run(arguments: Sequence[str], output: Path, kill_at: int) -> tuple[float, int]:
    """Answer the claims on two nodes; return the seconds and the records before the kill."""
    # Ray's workers give way to all other processes; the local run does not.
    os.environ.setdefault("RAY_worker_niceness", "0")
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        cluster.add_node(**node)
        began = time.monotonic()
        spread = ["--engine", "ray", "--ray-address", cluster.address, "--output", str(output)]
        with subprocess.Popen([*ADMIRAL, *arguments, *spread]) as process:
            partial = output.with_name(output.name + ".partial")
            while (written := _lines(partial)) < kill_at:
                if process.poll() is not None:
                    raise AdmiralError("the run ended before a node could be killed")
                time.sleep(0.05)
            cluster.remove_node(cluster.list_all_nodes()[1], allow_graceful=False)
            click.echo(f"the second node was killed after {written} records")
            process.wait()
        if process.returncode:
            raise AdmiralError(f"the run ended with status {process.returncode}")
        return time.monotonic() - began, written
    finally:
        cluster.shutdown()


def differences(first: Any, second: Any) -> float:
    """Return the largest difference of two numbers in two values; infinity if they differ else."""
    if isinstance(first, float) and isinstance(second, float):
        return abs(first - second)
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        return max((differences(first[k], second[k]) for k in first if k != "seconds"), default=0)
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return max(map(differences, first, second), default=0)
    return 0 if first == second else float("inf")


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.open("rb")]


@click.command()
@click.option("--kb", default="demo", show_default=True)
@click.option("--count", default=2000, show_default=True, help="Claims.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Settings of both.")
def main(kb: str, count: int, settings: tuple[str, ...]) -> None:
    """Print what became of every claim."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        claims, one, two = (folder / f"{n}.jsonl" for n in ("claims", "local", "ray"))
        texts = write_claims(claims, kb, count)
        click.echo(f"{count} claims, {texts} texts")
        arguments = ["retrieve", "--input", str(claims), "--kb", kb]
        arguments += [part for setting in settings for part in ("--set", setting)]
        seconds = local_run([*arguments, "--threads", "1"], one)
        spread, before = ray_run(arguments, two, count // 3)
        want, got = _records(one), _records(two)
        times = Counter(record["id"] for record in got)
        apart = [differences(*pair) for pair in zip(want, got, strict=False)]
        click.echo("| | claims |")
        click.echo("|---|---|")
        for label, value in (
            ("asked", count),
            ("answered before a node was killed", before),
            ("ids in the results", len(times)),
            ("ids that come twice", sum(n > 1 for n in times.values())),
            ("in the order of the claims", sum(g["id"] == f"c{n}" for n, g in enumerate(got))),
            ("equal to the local run", sum(d <= _TOLERANCE for d in apart)),
            ("of these, equal to the last digit", sum(d == 0 for d in apart)),
        ):
            click.echo(f"| {label} | {value} |")
        most = max((d for d in apart if d <= _TOLERANCE), default=0)
        click.echo(f"largest difference of a score: {most:.1e}")
        click.echo(f"local, one thread: {seconds:.0f} s; two nodes, one killed: {spread:.0f} s")
        if len(times) != count or not all(d <= _TOLERANCE for d in apart):
            raise click.ClickException("claims were lost or answered otherwise")


if __name__ == "__main__":
    main()
