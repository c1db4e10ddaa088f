"""Score documents by their features: how likely each one belongs to the evidence.

The scorer is a small network, fitted by `training.ranking` on claims with known gold documents. Its
file is readable: every unit gives a weight to each feature by name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Protocol

from admiral.errors import AdmiralError
from admiral.records import DocumentSet, Hop, Proximity, RankedDocument, ScoredTitle
from admiral.retrieval.evidence import z_scores
from admiral.retrieval.fusion import RANK_CONSTANT, in_reading_order, title_probabilities
from proofs.judges.network import HiddenUnit, network_score, read_units
from proofs.judges.weight_files import read_weights

#: The names of the features, which are also the keys of the weight file:
#:
#: - ``first_stage``: reciprocal rank in the first stage;
#: - ``named``: 1 if the claim mentions the document, else 0;
#: - ``named_early``: reciprocal of its position among the titles that the claim mentions, because a
#:   claim tends to mention its subject first;
#: - ``read_first``, ``read_last``: reciprocal rank in the reading order of the first and last hop;
#: - ``mentioned_last``: reciprocal rank, in that order, among the documents that the last evidence
#:   mentions;
#: - ``evidence_last``: reciprocal position of its best sentence in the last evidence;
#: - ``evidence_share``: share of the hops whose evidence has a sentence of it;
#: - ``standing_first``, ``standing_last``: z-score of its best sentence among the best sentences of
#:   all documents, at the first and last hop;
#: - ``seen_last``: 1 if the last hop read it, else 0;
#: - ``mentioned_share``: share of the hops whose evidence mentions it;
#: - ``probability``: log of the summed probability of the last hop's sets that contain it;
#: - ``generative_first``, ``generative_last``: log of the probability that the model names it, from
#:   the claim alone and at the last hop (`admiral.retrieval.hop_retriever`);
#: - ``near_evidence``: log of the share of a random walk on the graph of mentions, from the claim
#:   and the last evidence, that other documents lead to it;
#: - ``mentions_evidence``: share of the documents of the last evidence that it mentions.
FEATURES = (
    "first_stage",
    "named",
    "named_early",
    "read_first",
    "read_last",
    "mentioned_last",
    "evidence_last",
    "evidence_share",
    "standing_first",
    "standing_last",
    "seen_last",
    "mentioned_share",
    "probability",
    "generative_first",
    "generative_last",
    "near_evidence",
    "mentions_evidence",
)
#: The features that the title scorer provides.
GENERATIVE_FEATURES = ("generative_first", "generative_last")
#: The features that the graph of a knowledge base provides. Weights that were fitted without a
#: graph need not have them.
GRAPH_FEATURES = ("near_evidence", "mentions_evidence")

#: The least proximity, in logs, that is told apart from none.
MIN_PROXIMITY = math.log(1e-6)

# The z-score of a document that a hop did not read, and the log probability of one that is in no
# probable set or was not scored.
_UNREAD_Z_SCORE = -1.0
_MIN_LOG_PROBABILITY = math.log(1e-6)
_FAR = Proximity(MIN_PROXIMITY, 0.0)


class HopResults(Protocol):
    """The part of `admiral.retrieval.state.SearchState` that the features read."""

    candidates: list[ScoredTitle] | None
    claim_mentions: list[str]
    document_sets: list[list[DocumentSet]]
    hops: list[Hop]
    read: list[list[str]]
    best_scores: list[dict[str, float]]
    title_scores: list[dict[str, float]]
    mentioned: list[list[str]]
    proximity: list[dict[str, Proximity]]


def found_titles(state: HopResults) -> list[str]:
    """Return every document that was found, read or mentioned by evidence, each once."""
    titles = [
        *(candidate.title for candidate in state.candidates or ()),
        *(t for sets in state.document_sets for s in sets for t in s.titles),
        *(t for hop in state.read for t in hop),
        *(t for hop in state.mentioned for t in hop),
    ]
    return list(dict.fromkeys(titles))


def document_features(state: HopResults) -> dict[str, tuple[float, ...]]:
    """Compute the features of every document that was found, read or mentioned by evidence.

    Parameters
    ----------
    state
        A claim after one or more hops.

    Returns
    -------
    dict
        The values of `FEATURES`, by title.
    """
    first_stage = _reciprocal_ranks(c.title for c in state.candidates or ())
    read = [_reciprocal_ranks(titles) for titles in state.read]
    read_first = _reciprocal_ranks(
        t for sets in state.document_sets[:1] for s in sets for t in s.titles
    )
    read_last = read[-1] if len(read) > 1 else {}
    mentioned_last = _reciprocal_ranks(in_reading_order(_last(state.mentioned), state.read[-1:]))
    mentioned_share = _shares(state.mentioned)
    evidence = [[s.title for s in hop.evidence] for hop in state.hops]
    evidence_last = _reciprocal_positions(_last(evidence))
    evidence_share = _shares(evidence)
    claim_mentions = _reciprocal_positions(state.claim_mentions)
    scores = [z_scores(best_scores) for best_scores in state.best_scores]
    scores_first, scores_last = (scores[0], scores[-1]) if scores else ({}, {})
    last_sets = state.document_sets[-1] if len(state.document_sets) > 1 else ()
    log_probabilities = {t: math.log(p) for t, p in title_probabilities(last_sets).items()}
    by_claim = state.title_scores[0] if state.title_scores else {}
    by_last_hop = state.title_scores[-1] if len(state.title_scores) > 1 else {}
    proximity = state.proximity[-1] if state.proximity else {}
    return {
        title: (
            first_stage.get(title, 0.0),
            float(title in claim_mentions),
            claim_mentions.get(title, 0.0),
            read_first.get(title, 0.0),
            read_last.get(title, 0.0),
            mentioned_last.get(title, 0.0),
            evidence_last.get(title, 0.0),
            evidence_share.get(title, 0.0),
            scores_first.get(title, _UNREAD_Z_SCORE),
            scores_last.get(title, _UNREAD_Z_SCORE),
            float(title in scores_last),
            mentioned_share.get(title, 0.0),
            log_probabilities.get(title, _MIN_LOG_PROBABILITY),
            by_claim.get(title, _MIN_LOG_PROBABILITY),
            by_last_hop.get(title, _MIN_LOG_PROBABILITY),
            near.arrivals,
            near.mentions,
        )
        for title in found_titles(state)
        for near in [proximity.get(title, _FAR)]
    }


def _reciprocal_ranks(titles: Iterable[str]) -> dict[str, float]:
    """Return the reciprocal rank of each title, as in reciprocal rank fusion."""
    return {
        t: 1.0 / (RANK_CONSTANT + rank) for rank, t in enumerate(dict.fromkeys(titles), start=1)
    }


def _reciprocal_positions(titles: Iterable[str]) -> dict[str, float]:
    """Return the reciprocal of each title's first position, counted from 1."""
    return {title: 1.0 / at for at, title in reversed([*enumerate(titles, start=1)])}


def _shares(lists: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the share of lists that contain each title."""
    shares: dict[str, float] = {}
    for titles in lists:
        for title in dict.fromkeys(titles):
            shares[title] = shares.get(title, 0.0) + 1.0 / len(lists)
    return shares


def _last(lists: Sequence[Sequence[str]]) -> Sequence[str]:
    return lists[-1] if lists else ()


#: Number of documents that are ranked by their features. The others hardly have any, so that
#: reciprocal rank fusion orders them at least as well.
RERANKED_DOCUMENTS = 50


@dataclass(frozen=True, slots=True)
class NetworkDocumentScorer:
    """A network of tanh units over the features of a document; see `proofs.judges.network`.

    Attributes
    ----------
    units
        The hidden units; the score is the weighted sum of their outputs.
    """

    units: tuple[HiddenUnit, ...]

    @classmethod
    def read(cls, path: Path) -> NetworkDocumentScorer:
        """Read a file written by `training.ranking`; missing graph features have no weight.

        Raises
        ------
        AdmiralError
            If a field is missing, unknown or not a number; the message names it.
        """
        try:
            record = read_weights(path, ("units",))["units"]
            return cls(read_units(path, record, FEATURES, optional=GRAPH_FEATURES))
        except ValueError as error:
            raise AdmiralError(f"{error} with training.ranking") from error

    @classmethod
    def bundled(cls, *, graph: bool = False) -> NetworkDocumentScorer:
        """Return the weights bundled with the package, for retrieval with or without a graph."""
        name = "ranking-graph.json" if graph else "ranking.json"
        with resources.as_file(resources.files("admiral") / "data" / name) as path:
            return cls.read(path)

    def reads(self, names: Collection[str]) -> bool:
        """Return whether the score depends on any of these features."""
        return any(unit.weights[name] for unit in self.units for name in names)

    def to_json(self) -> str:
        """Return the content of a file that `read` accepts."""
        return json.dumps(asdict(self), indent=1) + "\n"

    def score(self, features: Sequence[float]) -> float:
        """Return the score of a document from its values of `FEATURES`; higher is more relevant."""
        return network_score(self.units, dict(zip(FEATURES, features, strict=True)))

    def rank(
        self, documents: Sequence[RankedDocument], features: Mapping[str, Sequence[float]]
    ) -> list[RankedDocument]:
        """Rank the first `RERANKED_DOCUMENTS` documents by their features; ties keep their order.

        The other documents follow in their given order. Their scores are shifted below those of the
        first ones and keep their differences.

        Parameters
        ----------
        documents
            The documents in the order of `admiral.retrieval.fusion`.
        features
            The values of `FEATURES` of each document, by title.
        """
        head, tail = documents[:RERANKED_DOCUMENTS], documents[RERANKED_DOCUMENTS:]
        ranked = [replace(d, score=self.score(features[d.title])) for d in head]
        ranked.sort(key=lambda d: -d.score)
        return ranked + [
            replace(d, score=ranked[-1].score - (tail[0].score - d.score)) for d in tail
        ]
