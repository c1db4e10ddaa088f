"""The three labels of a pair, and the names that other pair classifiers give them."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: What evidence can do to a claim, in the order of all probabilities of the verifier.
LABELS = ("entailment", "neutral", "contradiction")
_NAMES = {
    "entailment": (
        *("entailment", "entail", "entails", "entailed", "support", "supports", "supported"),
        *("true", "e"),
    ),
    "neutral": (
        *("neutral", "notenoughinfo", "notenoughinformation", "notenough", "nei", "unknown"),
        *("unverifiable", "insufficient", "noinfo", "n"),
    ),
    "contradiction": (
        *("contradiction", "contradict", "contradicts", "contradictory", "contradicted", "refute"),
        *("refutes", "refuted", "false", "c"),
    ),
}
_MEANINGS = {name: label for label, names in _NAMES.items() for name in names}


def label_columns(names: Mapping[int, str], where: str) -> tuple[int, ...]:
    """Return the column of each of `LABELS` in the output of a classifier.

    Parameters
    ----------
    names
        The name of each column, as `id2label` of a configuration.
    where
        The file of the configuration, for errors.

    Raises
    ------
    ValueError
        If the names are not one for each label.
    """
    columns: dict[str, int] = {}
    for column, name in sorted(names.items()):
        label = _MEANINGS.get(re.sub(r"[^a-z]", "", name.casefold()))
        if label is None or label in columns:
            columns = {}
            break
        columns[label] = column
    if len(columns) != len(LABELS):
        given = ", ".join(repr(name) for _, name in sorted(names.items()))
        raise ValueError(
            f"{where}: field 'id2label': the labels {given} are not one each for "
            f"{', '.join(LABELS)}; rename them so, or choose another classifier"
        )
    return tuple(columns[label] for label in LABELS)
