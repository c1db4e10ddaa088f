"""Weighed clues: how likely each document belongs to the evidence, for its choice and the ranking.

A small network, fitted on claims whose gold documents are known (`training.ranking`), scores each
document by its clues (`admiral.ranking.features`). Its numbers can be read in the file: every unit
says which clues it adds up, and what its vote is worth.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path

from admiral.errors import AdmiralError
from admiral.ranking.features import CLUES
from admiral.records import RankedDocument
from proofs.judges.network import Unit, read_units, score_of
from proofs.judges.weight_files import read_weights

# Documents that are ranked by their clues.
_HEAD = 50


@dataclass(frozen=True, slots=True)
class Relevance:
    """Scores documents by their clues; higher ones rather belong to the evidence.

    Attributes
    ----------
    units
        The parts of the score.
    """

    units: tuple[Unit, ...]

    @classmethod
    def read(cls, path: Path) -> Relevance:
        """Read a file that `training.ranking` has written.

        Raises
        ------
        AdmiralError
            Naming the file and the field that is missing, unknown or no number.
        """
        try:
            return cls(read_units(path, read_weights(path, ("units",))["units"], CLUES))
        except ValueError as error:
            raise AdmiralError(f"{error} with training.ranking") from error

    @classmethod
    def bundled(cls) -> Relevance:
        """Return the weights that come with the package."""
        with resources.as_file(resources.files("admiral") / "data" / "ranking.json") as path:
            return cls.read(path)

    def to_json(self) -> str:
        """Return the text of a file that `read` reads."""
        return json.dumps(asdict(self), indent=1) + "\n"

    def score(self, clues: Sequence[float]) -> float:
        """Return the score of a document with these values of `CLUES`."""
        return score_of(self.units, dict(zip(CLUES, clues, strict=True)))

    def rank(
        self, found: Sequence[RankedDocument], clues: Mapping[str, Sequence[float]]
    ) -> list[RankedDocument]:
        """Return ranked documents with scores by their clues, best first; ties stay in order.

        Those beyond the first fifty stay behind, in the order of the votes: what is found by hardly
        any clue, votes find at least as well. Their scores fall from the least one as their votes
        do.
        """
        head = [replace(one, score=self.score(clues[one.title])) for one in found[:_HEAD]]
        head.sort(key=lambda one: -one.score)
        rest = found[_HEAD:]
        return head + [
            replace(one, score=head[-1].score - (rest[0].score - one.score)) for one in rest
        ]
