"""The component for Haystack, used by the real package."""

import pytest

pytest.importorskip("haystack", reason="needs Haystack: pip install '.[haystack]'")

import haystack
from haystack import Pipeline, default_from_dict
from haystack.components.builders import PromptBuilder
from haystack.core.serialization import component_to_dict

from admiral import AdmiralError
from admiral.adapters.haystack import AdmiralRetriever

CLAIM = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."
# Haystack 3 has a single kind of pipeline, and loads only trusted modules.
AsyncPipeline = getattr(haystack, "AsyncPipeline", Pipeline)
TRUST = {} if AsyncPipeline is not Pipeline else {"allowed_modules": ["admiral.*"]}
SETTINGS = {"reranker": "bm25", "judge": "lexical", "beam_size": 4, "rerank_documents": 8}
SETTINGS |= {"top_k": 20, "title_beams": 0}


@pytest.fixture(scope="module")
def retriever(user_cache, model):
    made = AdmiralRetriever(model=model, top_k=5, hops=1, settings=SETTINGS)
    yield made
    made.close()


def test_run(retriever, quick):
    outputs = retriever.run(CLAIM)
    result = quick.retrieve(CLAIM, hops=1)
    documents = outputs["documents"]
    assert [one.id for one in documents] == [one.title for one in result.documents[:5]]
    assert [one.score for one in documents] == [round(d.score, 6) for d in result.documents[:5]]
    for one in documents:
        assert one.meta["title"] == one.id
        assert " ".join(filter(None, quick.kb.document(one.id).sentences)) == one.content
        assert one.meta["stopped"] == "max_hops"
        assert type(one).from_dict(one.to_dict()) == one  # nothing in `meta` shadows a field
    assert any(one.meta["evidence"] for one in documents)
    assert outputs["record"]["documents"][0]["title"] == documents[0].id
    assert len(outputs["record"]["hops"]) == 1
    other = retriever.run(CLAIM, top_k=2, hops=2)
    assert (len(other["documents"]), len(other["record"]["hops"])) == (2, 2)


def test_in_a_saved_pipeline(retriever):
    pipeline = Pipeline()
    pipeline.add_component(
        "retriever", default_from_dict(AdmiralRetriever, component_to_dict(retriever, "r"))
    )
    pipeline.add_component(
        "prompt",
        PromptBuilder(
            "{% for one in documents %}{{ one.meta.title }}\n{% endfor %}",
            required_variables=["documents"],
        ),
    )
    pipeline.connect("retriever.documents", "prompt.documents")
    again = Pipeline.loads(pipeline.dumps(), **TRUST)
    component = again.get_component("retriever")
    assert component_to_dict(component, "r") == component_to_dict(retriever, "r")
    try:
        found = again.run({"retriever": {"query": CLAIM}})["prompt"]["prompt"]
    finally:
        component.close()
    assert found.splitlines() == [one.id for one in retriever.run(CLAIM)["documents"]]


def test_bad_settings_are_reported_at_once(retriever):
    with pytest.raises(AdmiralError, match="AdmiralRetriever: key 'beam_sise'"):
        AdmiralRetriever(settings={"beam_sise": 8})
    with pytest.raises(AdmiralError, match="hops"):
        AdmiralRetriever(hops="many")
    with pytest.raises(AdmiralError, match="top_k=0"):
        AdmiralRetriever(top_k=0)
    with pytest.raises(AdmiralError, match="top_k=-1"):  # reported before anything is opened
        AdmiralRetriever(kb="absent").run(CLAIM, top_k=-1)
    with pytest.raises(AdmiralError, match="no-such-kb"):
        AdmiralRetriever(kb="no-such-kb").warm_up()
