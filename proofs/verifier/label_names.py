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
# Names that transformers gives to outputs without names: the second of two is the positive one.
_UNNAMED = ("label_0", "label_1")
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
        label = _meaning(name)
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


def support_columns(names: Mapping[int, str], where: str) -> tuple[int, ...]:
    """Return the column of support, and that of the rest, of a classifier of one or two outputs.

    A single output is the log-odds of support. Of two outputs, one must be named as entailment is;
    if both have no names, the second is support.

    Parameters
    ----------
    names, where
        As in `label_columns`; without names, there are two outputs.

    Raises
    ------
    ValueError
        If the names do not say which output is support.
    """
    if len(names) == 1:
        return (0,)
    given = [name for _, name in sorted(names.items())] or list(_UNNAMED)
    if tuple(name.casefold() for name in given) == _UNNAMED:
        return (1, 0)
    support = [column for column, name in enumerate(given) if _meaning(name) == "entailment"]
    if len(given) != 2 or len(support) != 1:
        listed = ", ".join(map(repr, given))
        raise ValueError(
            f"{where}: field 'id2label': of the labels {listed}, none or several say that a text "
            "supports a claim; rename that one to entailment, or choose another classifier"
        )
    return (support[0], 1 - support[0])


def _meaning(name: str) -> str | None:
    return _MEANINGS.get(re.sub(r"[^a-z]", "", name.casefold()))
