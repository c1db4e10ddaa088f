"""Print pins with hashes: ``python -m tools.hashed_pins PACKAGE...``, without their dependencies.

The versions are those of constraints.txt, and the hash is that of the file that pip would install.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
_REPORT = ("install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed", "--report", "-")


def hashed_pins(packages: Sequence[str]) -> Iterator[str]:
    """Yield a line of a requirements file for each package."""
    command = [sys.executable, "-m", "pip", *_REPORT, "--constraint", str(CONSTRAINTS), *packages]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    for entry in json.loads(done.stdout)["install"]:
        found = entry["metadata"]
        checksum = entry["download_info"]["archive_info"]["hashes"]["sha256"]
        yield f"{found['name']}=={found['version']} \\\n    --hash=sha256:{checksum}"


if __name__ == "__main__":
    print(*hashed_pins(sys.argv[1:]), sep="\n")
