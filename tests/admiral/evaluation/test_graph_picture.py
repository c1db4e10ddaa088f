"""The picture of a neighbourhood: well-formed SVG, whatever the titles."""

from __future__ import annotations

import math
import re
from typing import get_args
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from admiral.evaluation.html_report import graph_picture
from admiral.graph.neighbourhood import MentionEdge, Neighbour, Neighbourhood, Role
from admiral.records import Sentence

TEXTS = st.text(max_size=60) | st.sampled_from(["</svg><script>alert(1)</script>", "]]>", "&amp;"])


@st.composite
def neighbourhoods(draw):
    roles = draw(st.lists(st.sampled_from(get_args(Role)), min_size=1, max_size=12))
    documents = tuple(Neighbour(draw(TEXTS), role) for role in roles)
    numbers = st.integers(0, len(documents) - 1)
    pairs = draw(st.lists(st.tuples(numbers, numbers).filter(lambda p: p[0] != p[1]), max_size=9))
    edges = tuple(MentionEdge(*pair, Sentence("T", 0, draw(TEXTS))) for pair in pairs)
    return Neighbourhood(documents, edges, ())


@given(neighbourhoods(), st.sets(TEXTS, max_size=2))
def test_a_picture_is_well_formed_and_inside_its_frame(around, gold):
    svg = ElementTree.fromstring(graph_picture(around, gold))
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    assert {element.tag for element in svg.iter()} <= {
        "svg", "g", "title", "text", "rect", "path", "polygon",
    }  # fmt: skip
    boxes = list(svg.iter("rect"))
    assert len(boxes) == len(around.documents)
    assert len(list(svg.iter("polygon"))) == len(around.edges)
    places = [(float(box.attrib["x"]), float(box.attrib["y"])) for box in boxes]
    assert all(x >= 0 and x + 216 <= width and y >= 0 and y + 30 <= height for x, y in places)
    for at, (x, y) in enumerate(places):
        assert all(x != x2 or abs(y - y2) >= 30 for x2, y2 in places[:at])
    for path in svg.iter("path"):
        numbers = [float(each) for each in re.findall(r"-?[\d.]+", path.attrib["d"])]
        assert all(math.isfinite(each) and 0 <= each <= max(width, height) for each in numbers)
