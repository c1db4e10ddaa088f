"""The retriever for LlamaIndex, used by the real package."""

import pytest

pytest.importorskip("llama_index.core", reason="needs LlamaIndex: pip install '.[llamaindex]'")

from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, TextNode

from admiral import AdmiralError
from admiral.adapters.llamaindex import AdmiralRetriever

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."


@pytest.fixture(scope="module")
def retriever(quick):
    return AdmiralRetriever(quick, k=5, hops=1)


def essence(nodes):
    return [(each.node_id, each.text, each.score) for each in nodes]


def test_retrieve(quick):
    log = LlamaDebugHandler(print_trace_on_end=False)
    retriever = AdmiralRetriever(quick, k=5, hops=1, callback_manager=CallbackManager([log]))
    nodes = retriever.retrieve(CLAIM)
    result = quick.retrieve(CLAIM, hops=1)
    assert [(each.node_id, each.score) for each in nodes] == [
        (one.title, round(one.score, 6)) for one in result.documents[:5]
    ]
    assert any(each.metadata["evidence"] for each in nodes)
    assert {"claim", "evidence", "operator", "title"} <= nodes[0].metadata["proof"][0].keys()
    shown = nodes[0].get_content(MetadataMode.LLM)
    assert shown.startswith(f"title: {nodes[0].node_id}\n\n")
    assert shown == nodes[0].get_content(MetadataMode.EMBED)
    assert shown.endswith(nodes[0].text)
    assert TextNode.from_json(nodes[0].node.to_json()) == nodes[0].node
    assert len(log.get_event_pairs(CBEventType.RETRIEVE)) == 1


def test_in_a_query_engine(retriever):
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM())
    answer = engine.query(CLAIM)
    assert essence(answer.source_nodes) == essence(retriever.retrieve(CLAIM))
    assert f"title: {answer.source_nodes[0].node_id}" in str(answer)
    assert "operator" not in str(answer)


def test_bad_input_is_one_clear_error(quick, retriever):
    with pytest.raises(AdmiralError, match="k=0 is too small"):
        AdmiralRetriever(quick, k=0)
    with pytest.raises(AdmiralError, match="is empty"):
        retriever.retrieve(" ")
    with pytest.raises(AdmiralError, match="hops"):
        AdmiralRetriever(quick, hops="many").retrieve(CLAIM)
