"""Predictions (results of `admiral retrieve`, or a TREC run), paired with gold claims."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from admiral.errors import AdmiralError, RecordError
from admiral.gold import GoldClaim
from admiral.io.claims import claim_id
from admiral.io.result_writer import document_column, unescape_id, unescape_title
from admiral.io.streams import parse_object, record_lines
from admiral.records import RetrievalResult, json_of, read_record
from proofs import Verdict

REMEDY = "Give the results that `admiral retrieve` wrote, unchanged"
_EXAMPLE = '{"id": "1", "documents": [{"title": "..."}], "evidence": [], "hops": []}'


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction of a run for one claim. Titles are normalised (`normalise_title`)."""

    id: str
    documents: tuple[str, ...]  # distinct titles, best first
    # evidence as (title, sentence number), best first; None if the run gives no sentences, such as
    # a TREC run
    sentences: tuple[tuple[str, int], ...] | None = None
    # verdict of the record if it has probabilities, otherwise that of the last hop's proof; None
    # without either
    verdict: Verdict | None = None
    claim: str | None = None
    probability: float | None = None
    ids: tuple[str, ...] = ()  # of the documents in their corpus; empty if one of them has none

    @property
    def evidence_documents(self) -> tuple[str, ...]:
        """Distinct documents of the evidence, in order."""
        return tuple(dict.fromkeys(title for title, _ in self.sentences or ()))


def normalise_title(title: str) -> str:
    """Return the spelling of a title that comparisons use: Unicode normal form NFC."""
    return unicodedata.normalize("NFC", title)


def read_predictions(path: Path, *, by_id: bool = False) -> dict[str, Prediction]:
    """Return the predictions of a run by claim id, in the order of the file.

    A file whose first character is ``{`` is read as JSON Lines, any other as a TREC run. `by_id`:
    name documents by the column that they have in a TREC run: their id, or the escaped title of
    those without. There are then no sentences and verdicts, and equal scores of a TREC run are
    ordered as by trec_eval.
    """
    if is_trec_run(path):
        return _read_trec_run(path, by_id=by_id)
    predictions = {}
    for id, trace in read_traces(path).items():
        predictions[id] = prediction_of(trace)
        if by_id:
            columns = dict.fromkeys(map(document_column, map(json_of, trace.documents)))
            predictions[id] = Prediction(id, tuple(columns), claim=trace.text or None)
    return predictions


def read_traces(path: Path) -> dict[str, RetrievalResult]:
    """Return the results of a run by claim id, in the order of the file."""
    traces: dict[str, RetrievalResult] = {}
    places: dict[str, str] = {}
    for where, record in read_results(path):
        trace = parse_result(record, where)
        if trace.id in traces:
            problem = f"{trace.id!r} is also the id at {places[trace.id]}"
            raise RecordError(where, "id", problem, "Keep one result for each claim")
        traces[trace.id], places[trace.id] = trace, where
    return traces


def is_trec_run(path: Path) -> bool:
    """Return whether a file of predictions is a TREC run: its first character is not ``{``."""
    first = next(iter(record_lines(path, REMEDY)), None)
    if first is None:
        raise AdmiralError(f"{path}: holds no predictions. {REMEDY}")
    return not first[1].lstrip().startswith(b"{")


def read_results(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (place, record) for each record of a file of results."""
    is_empty = True
    for number, line in record_lines(path, REMEDY):
        if is_empty and not line.lstrip().startswith(b"{"):
            problem = "does not begin with a JSON record (a TREC run, which has only documents?)"
            raise AdmiralError(f"{path}: {problem}. {REMEDY}")
        is_empty = False
        where = f"{path}:{number}"
        yield where, parse_object(line, where, _EXAMPLE)
    if is_empty:
        raise AdmiralError(f"{path}: holds no results. {REMEDY}")


def parse_result(record: dict[str, Any], where: str) -> RetrievalResult:
    """Return the result in one record of `admiral retrieve`, with normalised titles."""
    if record.get("id") is None:
        raise RecordError(where, "id", "is missing", REMEDY)
    # Of other systems, the rest will do.
    given = {"claim": "", "stopped": "max_hops", **record, "id": claim_id(record, where, 0)}
    return read_record(RetrievalResult, _normalised(given), where, REMEDY)


def _normalised(value: Any) -> Any:
    """Return a JSON value with its texts as `normalise_title` spells them."""
    match value:
        case str():
            return normalise_title(value)
        case list():
            return list(map(_normalised, value))
        case dict():
            return {key: _normalised(each) for key, each in value.items()}
    return value


def prediction_of(result: RetrievalResult) -> Prediction:
    """Return what a result predicts."""
    ids: dict[str, str] = {}
    for document in result.documents:
        ids.setdefault(document.title, document.id)
    verdict = result.scored_verdict
    return Prediction(
        result.id,
        tuple(ids),
        tuple(sentence.key for sentence in result.evidence),
        result.verdict,
        result.text or None,
        None if verdict is None else (verdict.probabilities or {}).get(verdict.label),
        tuple(ids.values()) if all(ids.values()) else (),
    )


def _read_trec_run(path: Path, *, by_id: bool) -> dict[str, Prediction]:
    """Return the rankings of a TREC run: by score, equal ones in the order of the file.

    By id, equal ones are in descending order of the names, as in trec_eval.
    """
    scores: dict[str, dict[str, float]] = {}
    for number, line in record_lines(path, REMEDY):
        where = f"{path}:{number}"
        try:
            raw_id, _, column, _, raw_score, _ = line.decode("utf-8").split()
            id = unescape_id(raw_id)
            title = column if by_id else normalise_title(unescape_title(column))
            score = float(raw_score)
        except ValueError as error:
            problem = "is neither JSON nor six columns: query Q0 document rank score tag"
            raise RecordError(where, "", problem, REMEDY) from error
        if not math.isfinite(score):
            raise RecordError(where, "score", f"{raw_score} is not finite", "Correct the line")
        if title in scores.setdefault(id, {}):
            problem = f"{title!r} occurs twice for query {id!r}"
            raise RecordError(where, "document", problem, "Rank each document once")
        scores[id][title] = score
    order = _trec_eval_order if by_id else itemgetter(1)
    return {
        id: Prediction(id, tuple(t for t, _ in sorted(ranking.items(), key=order, reverse=True)))
        for id, ranking in scores.items()
    }


def _trec_eval_order(document: tuple[str, float]) -> tuple[float, bytes]:
    name, score = document
    return float(np.float32(score)), name.encode()


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

    `predictions`: results of the run, whose settings name the knowledge base. `kb`: the knowledge
    base, which records the formats of its corpora; None if it is not given.
    """
    name = read_run_settings(predictions).get("kb")
    if kb is None and name == "demo":
        kb = "demo"
    if kb is None:
        known = f"the knowledge base {name}" if name else "the run's knowledge base"
        return f"sentences are numbered as in {known}; --kb DIR tells who split them"
    # Imported here: the package of knowledge bases takes half a second.
    from admiral.kb import info, locate

    sources = info(locate(kb)).settings["sources"]
    formats = sorted({source["format"] for source in sources})
    origins = [_SENTENCES_BY_FORMAT.get(name, f"those of {name}") for name in formats]
    return f"sentences are {'; '.join(origins)}"


_MAX_LISTED_IDS = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """A gold claim and its prediction."""

    gold: GoldClaim  # the claim, with normalised titles
    # none if the run has no prediction for the claim, which counts as wrong
    prediction: Prediction | None

    @property
    def documents(self) -> tuple[str, ...]:
        """Ranked documents of the prediction; empty without a prediction."""
        return self.prediction.documents if self.prediction else ()

    @property
    def sentences(self) -> tuple[tuple[str, int], ...]:
        """Evidence sentences of the prediction; empty without a prediction."""
        return (self.prediction.sentences or ()) if self.prediction else ()

    @property
    def evidence_documents(self) -> tuple[str, ...]:
        """Documents of the evidence of the prediction; empty without a prediction."""
        return self.prediction.evidence_documents if self.prediction else ()

    @property
    def verdict(self) -> Verdict | None:
        """The predicted verdict, if any."""
        return self.prediction.verdict if self.prediction else None

    @property
    def is_answered(self) -> bool:
        """Whether there is a prediction."""
        return self.prediction is not None

    @property
    def title_sets(self) -> list[frozenset[str]]:
        """Alternative sets of gold documents."""
        return [frozenset(titles) for titles in self.gold.title_sets]


@dataclass(frozen=True, slots=True)
class PairedClaims:
    """All claims of a gold file, in its order, with the predictions of a run."""

    pairs: tuple[Pair, ...]  # one for each gold claim
    # ids of predictions whose claim is not in the gold file; these are left out
    unknown_ids: tuple[str, ...]

    @property
    def missing_ids(self) -> tuple[str, ...]:
        """Ids of gold claims without a prediction."""
        return tuple(pair.gold.id for pair in self.pairs if pair.prediction is None)

    @property
    def has_sentences(self) -> bool:
        """Whether the run gives evidence sentences, not only documents."""
        answered = (pair.prediction for pair in self.pairs if pair.prediction is not None)
        return any(prediction.sentences is not None for prediction in answered)

    @property
    def has_verdicts(self) -> bool:
        """Whether any prediction has a verdict."""
        return any(pair.verdict is not None for pair in self.pairs)

    def notes(self) -> list[str]:
        """Return notes on claims and predictions without a counterpart, one sentence each."""
        notes = []
        if self.missing_ids:
            missing = _count_ids(self.missing_ids, "claim")
            notes.append(f"{missing} without an answer, counted as wrong")
        if self.unknown_ids:
            unknown = _count_ids(self.unknown_ids, "answer")
            notes.append(f"{unknown} to claims that are not in the gold file")
        return notes


def pair_claims(gold: Iterable[GoldClaim], predictions: Mapping[str, Prediction]) -> PairedClaims:
    """Pair each gold claim with the prediction that has the same id."""
    pairs = []
    for claim in gold:
        prediction = predictions.get(claim.id)
        text = None if prediction is None else prediction.claim
        own = normalise_title(claim.claim)
        if text is not None and own and text.split() != own.split():
            raise AdmiralError(
                f"claim {claim.id!r}: the predictions have another claim ({_shorten(text)}) than "
                f"the gold file ({_shorten(claim.claim)}). Give the gold file of the same claims"
            )
        pairs.append(Pair(_with_normalised_titles(claim), prediction))
    gold_ids = {pair.gold.id for pair in pairs}
    paired = PairedClaims(tuple(pairs), tuple(id for id in predictions if id not in gold_ids))
    if len(paired.missing_ids) == len(pairs):
        raise AdmiralError(
            "no claim of the gold file is among the predictions; its ids are such as "
            f"{_list_ids(tuple(gold_ids))}, those of the predictions such as "
            f"{_list_ids(paired.unknown_ids)}. Give the gold file of the same claims"
        )
    return paired


def _with_normalised_titles(claim: GoldClaim) -> GoldClaim:
    evidence = tuple(
        tuple((normalise_title(title), number) for title, number in evidence_set)
        for evidence_set in claim.evidence
    )
    return replace(claim, evidence=evidence)


def count_noun(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 claim`` or ``2 claims``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _count_ids(ids: Sequence[str], noun: str) -> str:
    return f"{count_noun(len(ids), noun)} ({_list_ids(ids)})"


def _list_ids(ids: Sequence[str]) -> str:
    listed = ", ".join(repr(id) for id in sorted(ids)[:_MAX_LISTED_IDS])
    return listed + (", ..." if len(ids) > _MAX_LISTED_IDS else "")


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
