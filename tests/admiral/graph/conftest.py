"""A small knowledge base with ambiguous titles, links, and a document without sentences."""

import json
import shutil

import pytest

from admiral.graph import MentionGraph, build_graph
from admiral.kb import KnowledgeBase, build

DOCUMENTS = [
    {"title": "Ridley Scott", "sentences": ["Ridley Scott is a director.", "He lives in London."]},
    {"title": "Alien (film)", "sentences": ["It was made by Ridley Scott.", "It ends in space."]},
    {"title": "Alien (novel)", "sentences": ["Alan Dean Foster wrote it from Alien."]},
    {"title": "London", "sentences": ["London lies on the Thames."]},
    {"title": "Thames", "sentences": []},
    {
        "title": "Alan Dean Foster",
        "sentences": ["He wrote Alien.", "It was about the Alien film."],
        "links": [["Alien (novel)", "Nowhere"], []],
    },
    {"title": "The", "sentences": ["The End."]},
    {"title": "<script>\u202e", "sentences": ["Hostile, like London."]},
]
ROWS = {document["title"]: row for row, document in enumerate(DOCUMENTS)}


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The knowledge base with its graph, to be copied."""
    folder = tmp_path_factory.mktemp("built")
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(record) + "\n" for record in DOCUMENTS))
    build([corpus], folder / "kb", bm25="bm25s", progress=False)
    build_graph(folder / "kb", progress=False)
    return folder


@pytest.fixture
def kb_path(built, tmp_path):
    """The knowledge base without a graph."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "kb" / "derived" / "1" / "graph")
    return tmp_path / "kb"


@pytest.fixture
def kb(built, tmp_path):
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    with KnowledgeBase.open(tmp_path / "kb") as opened:
        yield opened


@pytest.fixture
def graph(kb):
    return MentionGraph.open(kb)
