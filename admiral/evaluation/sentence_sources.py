"""Where the sentences of a run come from: figures of sentences mean little without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from admiral.kb import locate
from admiral.kb.store.members import read_holdings

_SPLIT = "split by AdMIRaL's rules"
_OF_FORMAT = {
    "fever": "those of FEVER's wiki-pages",
    "hotpotqa": "those of the HotpotQA dump",
    "feverous": "those of the FEVEROUS database, tables and lists left out",
    "jsonl": f"those of the corpus where it gives sentences, otherwise {_SPLIT}",
    "kilt": _SPLIT,
    "beir": _SPLIT,
    "text": _SPLIT,
}


def run_settings(predictions: Path) -> dict[str, Any]:
    """Return the settings that `admiral retrieve` kept beside its results, empty without them."""
    try:
        kept = json.loads(predictions.with_name(predictions.name + ".settings.json").read_bytes())
        settings = kept["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return settings if isinstance(settings, dict) else {}


def sentence_note(predictions: Path, kb: str | None) -> str:
    """Return a sentence about who split the sentences that the run numbers.

    Parameters
    ----------
    predictions
        The results, whose settings name the knowledge base.
    kb
        The knowledge base itself, which knows its corpora; None where it is not given.
    """
    name = run_settings(predictions).get("kb")
    if kb is None and name == "demo":
        kb = "demo"
    if kb is None:
        known = f"the knowledge base {name}" if name else "the run's knowledge base"
        return f"sentences are numbered as in {known}; --kb DIR tells who split them"
    formats = sorted({one["format"] for one in read_holdings(locate(kb)).settings["sources"]})
    said = "; ".join(_OF_FORMAT.get(one, f"those of {one}") for one in formats)
    return f"sentences are {said}"
