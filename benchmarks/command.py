"""The command line as processes of their own run it."""

from __future__ import annotations

import sys

ADMIRAL = [sys.executable, "-c", "from admiral.cli.main import run; run()"]
