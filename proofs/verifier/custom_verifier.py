"""A user's own class as a verifier, named as ``module:Class``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from proofs.verifier.label_names import LABELS
from proofs.verifier.reading import Reading, Sentence, Verifier, VerifierError

# Sums of probabilities of 32 or 16 bits.
_SUM_TOLERANCE = 0.01


class CustomVerifier:
    """Validates what a user's verifier returns, so that its errors surface at once.

    Parameters
    ----------
    name
        Its name, for errors.
    verifier
        The verifier.
    """

    def __init__(self, name: str, verifier: Verifier) -> None:
        self._name, self._verifier = name, verifier

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the verifier says (see `Verifier`).

        Raises
        ------
        VerifierError
            If these are no readings of the claims.
        """
        readings = list(self._verifier.read(claims, evidences))
        if len(readings) != len(claims):
            raise VerifierError(
                f"verifier {self._name!r}: read() returned {len(readings)} readings of "
                f"{len(claims)} claims; return one for each"
            )
        for reading, evidence in zip(readings, evidences, strict=True):
            if not isinstance(reading, Reading):
                raise VerifierError(
                    f"verifier {self._name!r}: read() returned {type(reading).__name__}; return "
                    "objects of proofs.verifier.reading.Reading"
                )
            self._check("labels", reading.labels, (len(LABELS),))
            self._check("sentences", reading.sentences, (len(evidence), len(LABELS)))
        return readings

    def _check(self, field: str, values: Any, shape: tuple[int, ...]) -> None:
        if not isinstance(values, np.ndarray) or values.shape != shape:
            found = getattr(values, "shape", type(values).__name__)
            raise VerifierError(
                f"verifier {self._name!r}: field {field!r} of a reading: expected an array of the "
                f"shape {shape}, found {found}"
            )
        if not (np.all(values >= 0) and np.all(abs(values.sum(-1) - 1) <= _SUM_TOLERANCE)):
            raise VerifierError(
                f"verifier {self._name!r}: field {field!r} of a reading: expected probabilities "
                f"of {', '.join(LABELS)} that add up to 1"
            )


def load_custom(name: str) -> CustomVerifier:
    """Return an instance of a user's class.

    Parameters
    ----------
    name
        Module and class, as in ``package.module:Class``. The class is called without arguments.

    Raises
    ------
    VerifierError
        If it cannot be imported or called, or has no method ``read``.
    """
    module_name, _, class_name = name.partition(":")
    try:
        module = import_module(module_name)
    except Exception as error:  # whatever the module does when it is imported
        raise _unusable(name, f"the module {module_name} cannot be imported", error) from error
    kind = getattr(module, class_name, None)
    if not callable(kind):
        raise VerifierError(
            f"verifier {name!r}: the module {module_name} has no class {class_name}; correct the "
            "name"
        )
    try:
        verifier = kind()
    except Exception as error:
        raise _unusable(name, f"{class_name}() cannot be called", error) from error
    if not callable(getattr(verifier, "read", None)):
        raise VerifierError(
            f"verifier {name!r}: {class_name} has no method read; write one as "
            "proofs.verifier.reading.Verifier has"
        )
    return CustomVerifier(name, verifier)


def _unusable(name: str, what: str, error: Exception) -> VerifierError:
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return VerifierError(f"verifier {name!r}: {what} ({reason}); mend it, or correct the name")
