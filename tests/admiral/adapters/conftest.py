"""Other systems, as they are, but for what they would send home."""

from __future__ import annotations

import os

# Before Haystack is imported, which would write into the user's home and report runs.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["LANGSMITH_TRACING"] = "false"
