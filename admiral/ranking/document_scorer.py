"""Score documents by their features: how likely each one belongs to the evidence.

The scorer is a small network, fitted by `training.ranking` on claims with known gold documents. Its
file is readable: every unit gives a weight to each feature by name.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.ranking.features import FEATURES, GRAPH_FEATURES
from admiral.records import RankedDocument
from proofs.judges.fitted_weights import HiddenUnit, network_score, read_units, read_weights

#: Number of documents that are ranked by their features. The others hardly have any, so that
#: reciprocal rank fusion orders them at least as well.
RERANKED_DOCUMENTS = 50


@dataclass(frozen=True, slots=True)
class NetworkDocumentScorer:
    """A network of tanh units over the features of a document; see `proofs.judges.fitted_weights`.

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
            The documents in the order of `admiral.ranking.fusion`.
        features
            The values of `FEATURES` of each document, by title.
        """
        head, tail = documents[:RERANKED_DOCUMENTS], documents[RERANKED_DOCUMENTS:]
        ranked = [replace(d, score=self.score(features[d.title])) for d in head]
        ranked.sort(key=lambda d: -d.score)
        return ranked + [
            replace(d, score=ranked[-1].score - (tail[0].score - d.score)) for d in tail
        ]
