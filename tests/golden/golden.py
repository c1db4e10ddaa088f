"""Golden outputs: what the system answers, kept in files and compared with what it answers now.

Run ``python -m tests.golden.golden check`` before and after a change that is to leave behaviour as
it is. ``write`` replaces the files; commit them with the change that is the reason.

Scores may differ by 0.0001 (`tests.golden.differences.TOLERANCE`); everything else has to be equal.
Models run in 32-bit arithmetic, since scores in bfloat16 differ between processors in the third
digit. A quick check also passed with two threads. With ATEN_CPU_CAPABILITY=default and
DNNL_MAX_CPU_ISA=AVX2, which do without AVX-512 and AMX, all records passed, of retrieve-graph those
of a quick check.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.golden import parts
from tests.golden.differences import differences
from tests.golden.parts import PARTS, SLOW_PARTS, golden


def written(records):
    """Return the text of a golden file, with a line for each record."""
    rows = [f"{json.dumps(key)}: {json.dumps(records[key], ensure_ascii=False)}" for key in records]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def answers(name, quick):
    """Return the outputs of a part, as JSON has them, with numbers of six digits."""
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(PARTS[name](Path(folder), quick))
    records = json.loads(text, parse_float=lambda number: round(float(number), 6))
    return records


def compare(expected, records, quick):
    """Return the differences; if `quick`, only of the records that were made."""
    if quick:
        expected = {key: value for key, value in expected.items() if key in records}
    return list(differences(expected, records))


@click.group()
@click.pass_context
def main(context):
    """Check or write the golden outputs."""
    # Before a command imports torch. Training has no setting for threads.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["HF_HUB_OFFLINE"] = "1"
    # The demo is built anew: the user's cache may hold one that an older version built.
    os.environ["XDG_CACHE_HOME"] = context.with_resource(tempfile.TemporaryDirectory())


_NAMES = click.argument("names", nargs=-1, type=click.Choice(list(PARTS)), metavar="[NAME]...")


@main.command()
@_NAMES
@click.option("--quick", is_flag=True, help="Check a few records of most parts.")
def check(names, quick):
    """Compare what the system answers now with the files of NAME..., or all.

    The exit status is 1 if anything differs.
    """
    count = 0
    for name in names or [name for name in PARTS if not (quick and name in SLOW_PARTS)]:
        start = time.monotonic()
        found = compare(golden(name), answers(name, quick), quick)
        count += len(found)
        noun = "difference" if len(found) == 1 else "differences"
        click.echo(f"{name}: {len(found) or 'no'} {noun}, {time.monotonic() - start:.1f} s")
        for line in found:
            click.echo(f"  {line}")
    sys.exit(1 if count else 0)


@main.command()
@_NAMES
def write(names):
    """Replace the files of NAME..., or all, by what the system answers now."""
    for name in names or PARTS:
        path = parts.FILES / f"{name}.json"
        path.write_text(written(answers(name, quick=False)), encoding="utf-8")
        click.echo(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
