"""Small random mention graphs, and the same data as Python sets for slow oracles."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from admiral.graph import MentionGraph
from admiral.graph.mention_graph import graph_arrays


@dataclass(frozen=True)
class SmallGraph:
    """A graph with `pages[row]` sentences, each a map from mentioned rows to kinds."""

    pages: list[list[dict[int, int]]]

    @property
    def frames(self):
        return [(row, mentions) for row, page in enumerate(self.pages) for mentions in page]

    def first_frame(self, row):
        return [0, *accumulate(map(len, self.pages))][row]

    def build(self):
        mentions = [sorted(mentions.items()) for _, mentions in self.frames]
        kinds = np.array([kind for each in mentions for _, kind in each], dtype=np.uint8)
        rows = np.array([row for each in mentions for row, _ in each], dtype=np.int64)
        starts = np.array([0, *accumulate(map(len, mentions))], dtype=np.int64)
        shape = (len(mentions), len(self.pages))
        by_frame = sparse.csr_array((kinds, rows, starts), shape=shape)
        arrays = graph_arrays(np.array([len(page) for page in self.pages]), by_frame)
        return MentionGraph(Path("kb"), arrays, {}, {"aliases": True})


@st.composite
def small_graphs(draw):
    rows = draw(st.integers(1, 9))
    mentions = st.dictionaries(st.integers(0, rows - 1), st.integers(0, 4), max_size=4)
    pages = draw(st.lists(st.lists(mentions, max_size=4), min_size=rows, max_size=rows))
    return SmallGraph(pages)
