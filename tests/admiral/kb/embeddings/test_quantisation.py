"""Vectors in eight bits, compared with plain arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.embeddings import dequantise, quantise

_component = st.floats(-1, 1, width=32).filter(lambda x: x == 0 or abs(x) > 1e-6)
_vectors = st.integers(1, 6).flatmap(
    lambda width: st.lists(st.lists(_component, min_size=width, max_size=width), min_size=1)
)


def rounded(vector):
    """Round one vector by its own scale."""
    largest = max(map(abs, vector))
    scaled = [np.float32(x) * np.float32(127) for x in vector]
    return [round(float(x / np.float32(largest))) if largest else 0 for x in scaled]


@given(_vectors)
def test_each_vector_has_its_own_scale(vectors):
    quantised = quantise(np.array(vectors, np.float32))
    assert quantised.dtype == np.int8
    assert quantised.tolist() == [rounded(vector) for vector in vectors]
    for vector, unit in zip(vectors, dequantise(quantised).tolist(), strict=True):
        length = math.hypot(*vector)
        if not length:
            assert not any(unit)
            continue
        assert math.hypot(*unit) == pytest.approx(1, abs=1e-5)
        # Rounding moves each component by at most half a step, the scale moves it as much again.
        bound = max(map(abs, vector)) / length / 127 * math.sqrt(len(vector))
        assert unit == pytest.approx([x / length for x in vector], abs=bound + 1e-5)
