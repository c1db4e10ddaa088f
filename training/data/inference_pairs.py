"""Reader of natural language inference pairs: `premise`, `hypothesis`, `label` and `source`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from admiral.errors import AdmiralError, RecordError
from admiral.io.streams import json_objects
from training.data.verification_pairs import Pair, parse_pair

#: Data sets whose licences forbid commercial use. Weights that are published are not trained on
#: them.
NON_COMMERCIAL = frozenset({"anli", "sick"})
_FIELDS = {"hypothesis": "claim", "premise": "evidence", "label": "label", "source": "source"}


def inference_files(path: Path, split: str) -> list[Path]:
    """Return a file of pairs, or the files of a split in a folder (``*.train.jsonl.gz``).

    Raises
    ------
    AdmiralError
        If there is no such file, or the folder has none of this split.
    """
    if path.is_file():
        return [path]
    files = sorted({*path.glob(f"*.{split}.jsonl"), *path.glob(f"*.{split}.jsonl.gz")})
    if not files:
        raise AdmiralError(
            f"{path}: there is no file *.{split}.jsonl or *.{split}.jsonl.gz; give a file of "
            "pairs, a folder of them, or another --split"
        )
    return files


def read_inference_pairs(path: Path, *, non_commercial: bool = False) -> Iterator[Pair]:
    """Yield the pairs of a file.

    Evidence that entails or contradicts a claim is relevant; of other evidence, it is unknown.

    Parameters
    ----------
    path
        JSON Lines, compressed or not.
    non_commercial
        Whether to yield pairs of `NON_COMMERCIAL` sources.

    Raises
    ------
    RecordError
        For a bad record, with file, line and field.
    """
    for item in json_objects(path):
        if isinstance(item, RecordError):
            raise item
        number, record = item
        where = f"{path}:{number}"
        for name in _FIELDS:
            if name not in record:
                remedy = f"The fields are {', '.join(_FIELDS)}"
                raise RecordError(where, name, "is missing", remedy)
        renamed = {new: record[name] for name, new in _FIELDS.items()}
        is_decided = record["label"] in ("entailment", "contradiction")
        pair = parse_pair(renamed | {"relevance": True if is_decided else None}, where)
        if non_commercial or pair.source not in NON_COMMERCIAL:
            yield pair
