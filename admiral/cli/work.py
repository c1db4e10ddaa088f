"""A process of `admiral experiment`: does the job that standard input describes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from admiral.cli.main import INTERRUPTED
from admiral.cli.progress import track
from admiral.errors import AdmiralError
from admiral.experiments.work import do

if __name__ == "__main__":
    try:
        do(json.load(sys.stdin), Path(sys.argv[1]), track)
    except AdmiralError:
        sys.exit(1)  # the process that asked for it tells the message
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
