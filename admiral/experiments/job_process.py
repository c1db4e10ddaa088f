"""A process of `admiral experiment`: does the job that a line of standard input describes.

It ends when standard input does: then the process that asked for it was killed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from threading import Thread

from admiral.errors import AdmiralError
from admiral.experiments.jobs import do
from admiral.io.claim_progress import track
from admiral.io.terminal import INTERRUPTED


def _end_with_input() -> None:
    os.read(0, 1)  # not by sys.stdin, whose lock would be held when Python shuts down
    os._exit(1)


if __name__ == "__main__":
    try:
        job = json.loads(sys.stdin.readline())
        Thread(target=_end_with_input, daemon=True).start()
        do(job, Path(sys.argv[1]), track)
    except AdmiralError:
        sys.exit(1)  # the process that asked for it tells the message
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
