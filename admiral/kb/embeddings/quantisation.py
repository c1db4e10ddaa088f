"""Unit vectors in eight bits per component.

Each vector has its own scale, so that its largest component becomes 127. The scale is not stored:
a unit vector follows from its direction.
"""

from __future__ import annotations

import numpy as np

_LARGEST = 127


def quantise(vectors: np.ndarray) -> np.ndarray:
    """Round vectors to eight bits.

    Parameters
    ----------
    vectors
        Floats, (vectors, width), finite. Zero vectors stay zero.

    Returns
    -------
    numpy.ndarray
        int8, (vectors, width).
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(vectors * _LARGEST, largest, out=np.zeros_like(vectors), where=largest > 0)
    rounded: np.ndarray = np.rint(scaled).astype(np.int8)
    return rounded


def dequantise(quantised: np.ndarray) -> np.ndarray:
    """Return the unit vectors, float32, of vectors that were quantised; zero vectors stay zero."""
    vectors = quantised.astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    np.divide(vectors, norms, out=vectors, where=norms > 0)
    return vectors
