"""The origin of a run's sentence numbering, without which sentence measures are not comparable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_SPLIT = "split by AdMIRaL's rules"
_SENTENCES_BY_FORMAT = {
    "fever": "those of FEVER's wiki-pages",
    "hotpotqa": "those of the HotpotQA dump",
    "feverous": "those of the FEVEROUS database, tables and lists left out",
    "jsonl": f"those of the corpus where it gives sentences, otherwise {_SPLIT}",
    "kilt": _SPLIT,
    "beir": _SPLIT,
    "hipporag": _SPLIT,
    "files": _SPLIT,
    "text": _SPLIT,  # of knowledge bases of AdMIRaL 0.1
}


def read_run_settings(predictions: Path) -> dict[str, Any]:
    """Return the settings that `admiral retrieve` saved beside its results.

    Returns an empty dict if there is no valid settings file.
    """
    path = predictions.with_name(predictions.name + ".settings.json")
    try:
        settings = json.loads(path.read_bytes())["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return settings if isinstance(settings, dict) else {}


def sentence_note(predictions: Path, kb: str | None) -> str:
    """Return a note on where the sentences that the run refers to come from.

    Parameters
    ----------
    predictions
        Results of the run, whose settings name the knowledge base.
    kb
        The knowledge base, which records the formats of its corpora; None if it is not given.
    """
    name = read_run_settings(predictions).get("kb")
    if kb is None and name == "demo":
        kb = "demo"
    if kb is None:
        known = f"the knowledge base {name}" if name else "the run's knowledge base"
        return f"sentences are numbered as in {known}; --kb DIR tells who split them"
    # Imported here: the package of knowledge bases takes half a second.
    from admiral.kb import locate
    from admiral.kb.store.member_manifests import read_combined_manifest

    sources = read_combined_manifest(locate(kb)).settings["sources"]
    formats = sorted({source["format"] for source in sources})
    origins = [_SENTENCES_BY_FORMAT.get(name, f"those of {name}") for name in formats]
    return f"sentences are {'; '.join(origins)}"
