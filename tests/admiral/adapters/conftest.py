"""Telemetry of the other frameworks is switched off."""

import os

# Before Haystack is imported: otherwise it writes into the home directory and reports runs.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["LANGSMITH_TRACING"] = "false"
