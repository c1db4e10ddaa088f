"""Rank the documents that a search has found, and build its result.

The documents of all stages vote; features describe each document, and a small network then orders
the first of them again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from admiral.config import RetrievalConfig
from admiral.errors import AdmiralError, problem_of
from admiral.records import (
    DocumentSet,
    Hop,
    Proximity,
    RankedDocument,
    ScoredTitle,
)
from admiral.retrieval.state import HopRecord, SearchState, z_scores
from trie import SafeTokenizer

#: The constant of reciprocal rank fusion, ``1 / (constant + rank)`` (Cormack et al. 2009). They use
#: 60 for long lists; the lists of a hop are short, and their first ranks matter.
RANK_CONSTANT = 5
#: Weight of a hop's ranking by best sentence, relative to its ranking by generated sets.
READING_WEIGHT = 0.6
#: Weight of a hop's ranking of the documents that its evidence mentions.
MENTION_WEIGHT = 0.8
#: Document sets below this log probability do not vote: the beam holds them only because it found
#: nothing better among the titles of the knowledge base.
MIN_SET_LOG_PROBABILITY = -12.0


def rank_documents(
    hops: Sequence[Sequence[DocumentSet]],
    first_stage: Sequence[ScoredTitle],
    *,
    read: Sequence[Sequence[str]] = (),
    mentioned: Sequence[Sequence[str]] = (),
    claim_mentions: Sequence[str] = (),
    fused: bool = True,
) -> list[RankedDocument]:
    """Rank the documents of all hops and of the first stage, best first.

    If `fused`, rankings are merged by weighted reciprocal rank fusion:

    - the first stage and the document sets of each hop have weight 1; from hop 2 on, a hop ranks
      its documents by the sum of the probabilities of the sets that contain them;
    - from hop 2 on, the order in which a hop read its documents has weight `READING_WEIGHT`;
    - the documents that the evidence of a hop mentions have weight `MENTION_WEIGHT`. They are
      ranked by the reading of the next hop, since evidence mentions many documents, few of which
      are relevant;
    - each document that the claim mentions gets the vote of a first rank, if it was found at all.

    A document's score is the sum of its votes, and its hop is the hop of its largest vote (0: the
    first stage). A document that an early hop found with certainty thus keeps a high rank even if
    a later hop goes astray.

    Otherwise, the documents of the last hop's sets come first, in the order of the sets (as in the
    paper), then those of the hop before, and so on, then those of the first stage. The score is
    that of the set or candidate that first contained the document.

    - `hops`: the document sets of hop 1, 2, ..., each best first. Scores are log probabilities from
      hop 2 on.
    - `read`: the titles that were read at hop 1, 2, ..., in the order of their best sentences.
    - `mentioned`: the titles that the evidence of hop 1, 2, ... mentions.
    """
    if not fused:
        entries = [
            RankedDocument(title, document_set.score, number)
            for number in range(len(hops), 0, -1)
            for document_set in hops[number - 1]
            for title in document_set.titles
        ]
        entries += [RankedDocument(each.title, each.score, 0) for each in first_stage]
        first: dict[str, RankedDocument] = {}
        for document in entries:
            first.setdefault(document.title, document)
        return list(first.values())
    found = {c.title for c in first_stage} | {t for s in chain(*hops) for t in s.titles}
    # The weight, hop and titles of each ranking that votes.
    rankings: list[tuple[float, int, Iterable[str]]] = [(1.0, 0, [c.title for c in first_stage])]
    rankings += [(1.0, 0, [title]) for title in claim_mentions if title in found]
    if hops:
        rankings.append((1.0, 1, [t for s in hops[0] for t in s.titles]))
    rankings += [(1.0, hop, _by_probability(sets)) for hop, sets in enumerate(hops[1:], start=2)]
    rankings += [(READING_WEIGHT, hop, titles) for hop, titles in enumerate(read[1:], start=2)]
    rankings += [
        (MENTION_WEIGHT, hop, in_reading_order(titles, read[hop : hop + 1] or read[-1:]))
        for hop, titles in enumerate(mentioned, start=1)
    ]
    scores: dict[str, float] = {}
    largest: dict[str, tuple[float, int]] = {}  # the largest vote for each title, and its hop
    for weight, hop, titles in rankings:
        for rank, title in enumerate(dict.fromkeys(titles), start=1):
            vote = weight / (RANK_CONSTANT + rank)
            scores[title] = scores.get(title, 0.0) + vote
            largest[title] = max(largest.get(title, (0.0, 0)), (vote, hop))
    for hop, sets in enumerate(hops, start=1):
        for title in (t for s in sets for t in s.titles):
            scores.setdefault(title, 0.0)  # of improbable sets, which rank last
            largest.setdefault(title, (0.0, hop))
    ranked = [RankedDocument(t, score, largest[t][1]) for t, score in scores.items()]
    return sorted(ranked, key=lambda d: -d.score)  # stable: ties keep the order of the rankings


def in_reading_order(titles: Sequence[str], read: Sequence[Sequence[str]]) -> list[str]:
    """Return titles in the order in which they were read; those not read come last."""
    position = {title: number for number, title in enumerate(chain(*read))}
    return sorted(titles, key=lambda title: position.get(title, len(position)))


def title_probabilities(sets: Sequence[DocumentSet]) -> dict[str, float]:
    """Return, for each title, the sum of the probabilities of the sets that contain it.

    Sets below `MIN_SET_LOG_PROBABILITY` do not count.
    """
    sums: dict[str, float] = {}
    for document_set in sets:
        if document_set.score >= MIN_SET_LOG_PROBABILITY:
            for title in document_set.titles:
                sums[title] = sums.get(title, 0.0) + math.exp(document_set.score)
    return sums


def _by_probability(sets: Sequence[DocumentSet]) -> list[str]:
    sums = title_probabilities(sets)
    return sorted(sums, key=lambda title: -sums[title])


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
    "near_evidence",
    "mentions_evidence",
)
#: The features that the graph of a knowledge base provides. Weights that were fitted without a
#: graph need not have them.
GRAPH_FEATURES = ("near_evidence", "mentions_evidence")

#: The least proximity, in logs, that is told apart from none.
MIN_PROXIMITY = math.log(1e-6)

# The z-score of a document that a hop did not read, and the log probability of one that is in no
# probable set.
_UNREAD_Z_SCORE = -1.0
_MIN_LOG_PROBABILITY = math.log(1e-6)
_FAR = Proximity(MIN_PROXIMITY, 0.0)
_NO_HOP = HopRecord(Hop(False, None, number=0), ())


def document_features(state: SearchState) -> dict[str, tuple[float, ...]]:
    """Compute the values of `FEATURES` of every document that was found, read or mentioned."""
    records = state.records
    first, last = (records[0], records[-1]) if records else (_NO_HOP, _NO_HOP)
    later = last if len(records) > 1 else _NO_HOP  # the last hop, unless it is the first
    first_stage = _reciprocal_ranks(c.title for c in state.candidates)
    read_first = _reciprocal_ranks(t for s in first.document_sets for t in s.titles)
    read_last = _reciprocal_ranks(later.hop.read)
    mentioned_last = _reciprocal_ranks(in_reading_order(last.mentioned, [last.hop.read]))
    mentioned_share = _shares([record.mentioned for record in records])
    evidence = [[s.title for s in record.leading] for record in records]
    evidence_last = _reciprocal_positions(s.title for s in last.leading)
    evidence_share = _shares(evidence)
    claim_mentions = _reciprocal_positions(state.claim_mentions)
    scores_first, scores_last = z_scores(first.best_scores), z_scores(last.best_scores)
    in_sets = title_probabilities(later.document_sets)
    log_probabilities = {title: math.log(p) for title, p in in_sets.items()}
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
            near.arrivals,
            near.mentions,
        )
        for title in state.found_titles
        for near in [last.proximity.get(title, _FAR)]
    }


def _reciprocal_ranks(titles: Iterable[str]) -> dict[str, float]:
    return {
        t: 1.0 / (RANK_CONSTANT + rank) for rank, t in enumerate(dict.fromkeys(titles), start=1)
    }


def _reciprocal_positions(titles: Iterable[str]) -> dict[str, float]:
    return {title: 1.0 / at for at, title in reversed([*enumerate(titles, start=1)])}


def _shares(lists: Sequence[Sequence[str]]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for titles in lists:
        for title in dict.fromkeys(titles):
            shares[title] = shares.get(title, 0.0) + 1.0 / len(lists)
    return shares


#: Number of documents that are ranked by their features. The others hardly have any, so that
#: reciprocal rank fusion orders them at least as well.
RERANKED_DOCUMENTS = 50


# Bounded, so that sums of products stay finite.
Weight = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=-1e6, le=1e6)]


def _of_all_features(weights: Mapping[str, float]) -> Mapping[str, float]:
    """Return the weight of each feature; those of the graph may be missing."""
    wrong = sorted(weights.keys() ^ set(FEATURES) - (set(GRAPH_FEATURES) - weights.keys()))
    if wrong:
        raise ValueError(f"{wrong[0]!r} is {'unknown' if wrong[0] in weights else 'missing'}")
    return {name: weights.get(name, 0.0) for name in FEATURES}


@dataclass(frozen=True, slots=True)
class HiddenUnit:
    """A hidden unit, which contributes ``vote * tanh(bias + sum of weight * feature)``."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")
    vote: Weight
    bias: Weight
    # the weight of each of `FEATURES`
    weights: Annotated[Mapping[str, Weight], AfterValidator(_of_all_features)]

    def __call__(self, features: Mapping[str, float]) -> float:
        """Return what the unit contributes to the score of a document."""
        products = (self.weights[name] * value for name, value in features.items())
        return self.vote * math.tanh(self.bias + sum(products))


@dataclass(frozen=True, slots=True)
class NetworkDocumentScorer:
    """A network of tanh units over the features of a document; the score is their sum."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")
    units: Annotated[tuple[HiddenUnit, ...], Field(min_length=1)]

    @classmethod
    def read(cls, path: Path) -> NetworkDocumentScorer:
        """Read a file written by `training.ranking`; missing graph features have no weight.

        Raises AdmiralError if a field is missing, unknown or not a number; the message names it.
        """
        try:
            return TypeAdapter(cls).validate_json(path.read_bytes())
        except OSError as error:
            where, problem = "not a file of weights", str(error.strerror)
        except ValidationError as error:
            field, problem = problem_of(error)
            where = f"field {field!r}" if field else "not a file of weights"
        raise AdmiralError(f"{path}: {where}: {problem}; fit it anew with training.ranking")

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
        named = dict(zip(FEATURES, features, strict=True))
        total = 0.0
        for unit in self.units:
            total += unit(named)
        return total

    def rank(
        self, documents: Sequence[RankedDocument], features: Mapping[str, Sequence[float]]
    ) -> list[RankedDocument]:
        """Rank the first `RERANKED_DOCUMENTS` documents by their features; ties keep their order.

        The other documents follow in their given order, which is that of `rank_documents`. Their
        scores are shifted below those of the first ones and keep their differences.
        """
        head, tail = documents[:RERANKED_DOCUMENTS], documents[RERANKED_DOCUMENTS:]
        ranked = [replace(d, score=self.score(features[d.title])) for d in head]
        ranked.sort(key=lambda d: -d.score)
        return ranked + [
            replace(d, score=ranked[-1].score - (tail[0].score - d.score)) for d in tail
        ]


# Number of characters of the unread part of a claim that a warning quotes.
_QUOTED = 60


def ranked_documents(
    state: SearchState, config: RetrievalConfig, scorer: NetworkDocumentScorer | None
) -> list[RankedDocument]:
    """Rank all documents that a search has found; a scorer then ranks the first of them again.

    Without hops, these are the candidates, in the order of the first stage.
    """
    if not state.records:
        return [RankedDocument(each.title, each.score, 0) for each in state.candidates]
    documents = rank_documents(
        [record.document_sets for record in state.records],
        state.candidates,
        read=[record.hop.read for record in state.records],
        mentioned=[record.mentioned for record in state.records],
        claim_mentions=state.claim_mentions,
        fused=config.ranking != "last-hop",
    )
    return documents if scorer is None else scorer.rank(documents, document_features(state))


def cut_claim_warnings(
    claim: str, limits: Mapping[str, int], tokens: SafeTokenizer
) -> tuple[str, ...]:
    """Return a warning if a claim is longer than some model reads.

    The limits are numbers of tokens by the name of the model. Other models than that of the
    tokenizer, which counts, split a text into about as many tokens.
    """
    if not limits:
        return ()
    _, spans = tokens.encode_with_offsets(claim)
    exceeded = sorted((limit, name) for name, limit in limits.items() if limit < len(spans))
    if not exceeded:
        return ()
    unread = claim[spans[exceeded[0][0]][0] :]
    quoted = unread if len(unread) <= _QUOTED else unread[:_QUOTED] + "…"
    readers = ", ".join(f"{name} reads {limit}" for limit, name in exceeded)
    return (f"of the claim's {len(spans)} tokens {readers}; cut from: {quoted!r}",)
