"""Reading what is to be evaluated: the results of `admiral retrieve`, or a TREC run."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admiral.errors import AdmiralError, RecordError
from admiral.gold.json_lines import record_lines
from admiral.io.claims import claim_id
from admiral.io.streams import parse_object
from admiral.io.trec import unescape_id, unescape_title
from proofs import Proof, ProofError, Verdict

_REMEDY = "Give the results that `admiral retrieve` wrote, unchanged"
_EXAMPLE = '{"id": "1", "documents": [{"title": "..."}], "evidence": [], "hops": []}'


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a run answers to one claim; titles are composed (NFC), as in every comparison.

    Attributes
    ----------
    documents
        Titles, best first, each once.
    sentences
        The evidence, best first; None where the run has none, as a TREC run.
    verdict
        What the last hop's proof says of the claim; None without a proof.
    claim
        The text, None where the run does not repeat it.
    """

    id: str
    documents: tuple[str, ...]
    sentences: tuple[tuple[str, int], ...] | None = None
    verdict: Verdict | None = None
    claim: str | None = None

    @property
    def evidence_documents(self) -> tuple[str, ...]:
        """The documents of the evidence, in order, each once."""
        return tuple(dict.fromkeys(title for title, _ in self.sentences or ()))


def same_title(title: str) -> str:
    """Return the spelling of a title by which titles are compared."""
    return unicodedata.normalize("NFC", title)


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Return the answers of a run by the ids of their claims, in the order of the file.

    A file whose first character is ``{`` is JSON Lines, any other a TREC run.

    Raises
    ------
    RecordError
        For a bad record, and for an id (or a document of a claim) that comes twice.
    AdmiralError
        If the file cannot be read or holds nothing.
    """
    first = next(iter(record_lines(path, _REMEDY)), None)
    if first is None:
        raise AdmiralError(f"{path}: holds no predictions. {_REMEDY}")
    if not first[1].lstrip().startswith(b"{"):
        return _read_run(path)
    found: dict[str, Prediction] = {}
    lines: dict[str, str] = {}
    for where, record in read_results(path):
        one = parse_result(record, where)
        if one.id in found:
            problem = f"{one.id!r} is also the id at {lines[one.id]}"
            raise RecordError(where, "id", problem, "Give each claim one answer")
        found[one.id], lines[one.id] = one, where
    return found


def read_results(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, record) of a file of results, one at a time.

    Raises
    ------
    RecordError
        For a line that is no record.
    AdmiralError
        If the file cannot be read, holds nothing or is a TREC run.
    """
    begun = False
    for number, line in record_lines(path, _REMEDY):
        if not begun and not line.lstrip().startswith(b"{"):
            problem = "does not begin with a record; a TREC run, for one, names documents only"
            raise AdmiralError(f"{path}: {problem}. {_REMEDY}")
        begun, where = True, f"{path}:{number}"
        yield where, parse_object(line, where, _EXAMPLE)
    if not begun:
        raise AdmiralError(f"{path}: holds no results. {_REMEDY}")


def parse_result(record: dict[str, Any], where: str) -> Prediction:
    """Return the answer of one record of `admiral retrieve`."""
    if record.get("id") is None:
        raise RecordError(where, "id", "is missing", _REMEDY)
    titles = [
        _text(one, "title", f"documents[{number}]", where)
        for number, one in enumerate(_objects(record, "documents", where))
    ]
    sentences = []
    for number, one in enumerate(_objects(record, "evidence", where)):
        field, index = f"evidence[{number}]", one.get("sentence_id")
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            raise RecordError(where, f"{field}.sentence_id", "is not a number from 0 on", _REMEDY)
        sentences.append((_text(one, "title", field, where), index))
    claim = record.get("claim")
    return Prediction(
        claim_id(record, where, 0),
        tuple(dict.fromkeys(titles)),
        tuple(sentences),
        _verdict(record, where),
        claim if isinstance(claim, str) else None,
    )


def _verdict(record: dict[str, Any], where: str) -> Verdict | None:
    hops = _objects(record, "hops", where)
    steps = hops[-1].get("proof") if hops else None
    if steps is None:
        return None
    try:
        return Proof.from_json(steps).verdict()
    except (ProofError, TypeError) as error:
        raise RecordError(where, "hops[-1].proof", str(error), _REMEDY) from error


def _objects(record: dict[str, Any], field: str, where: str) -> list[dict[str, Any]]:
    value = record.get(field)
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise RecordError(where, field, "is not a list of objects", _REMEDY)
    return value


def _text(one: dict[str, Any], name: str, field: str, where: str) -> str:
    if not isinstance(one.get(name), str):
        raise RecordError(where, f"{field}.{name}", "is not text", _REMEDY)
    return same_title(one[name])


def _read_run(path: Path) -> dict[str, Prediction]:
    """Return the rankings of a TREC run: by score, equal ones in the order of the file."""
    scores: dict[str, dict[str, float]] = {}
    for number, line in record_lines(path, _REMEDY):
        where = f"{path}:{number}"
        try:
            query, _, title, _, score, _ = line.decode("utf-8").split()
            query, title, value = (
                unescape_id(query),
                same_title(unescape_title(title)),
                float(score),
            )
        except ValueError as error:
            problem = "is neither JSON nor six columns: query Q0 document rank score tag"
            raise RecordError(where, "", problem, _REMEDY) from error
        if not math.isfinite(value):
            raise RecordError(where, "score", f"{score} is not finite", "Correct the line")
        if title in scores.setdefault(query, {}):
            problem = f"{title!r} comes twice for query {query!r}"
            raise RecordError(where, "document", problem, "Rank each document once")
        scores[query][title] = value
    return {
        query: Prediction(query, tuple(sorted(found, key=found.__getitem__, reverse=True)))
        for query, found in scores.items()
    }
