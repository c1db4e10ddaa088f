"""Documents are found by any spelling of their titles and words."""

import json

import pytest

from admiral.kb import KnowledgeBase, add, build, compact
from admiral.kb.bm25.analysis import best_sentences, matching_words
from admiral.records import Document
from admiral.retrieval.first_stage import find_mentions

RECORDS = [
    {
        "title": "D’Orsay – a life",
        "text": "He drank _absinthe_ in a cafe\u0301 by the o\u00adcean.",
    },
    {"title": "Moss", "text": "It grows on stones."},
    {"title": "Fern", "text": "It grows in woods."},
]


def corpus(folder, records, name="c.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def kb_path(tmp_path):
    path = tmp_path / "kb"
    build(corpus(tmp_path, RECORDS), path, bm25="bm25s", progress=False)
    return path


@pytest.mark.parametrize(
    "title", ["D'Orsay - a life", "D’Orsay – a life", "D‘Orsay — a\u200b life"]
)
def test_titles_are_found_in_any_spelling(kb_path, title):
    with KnowledgeBase.open(kb_path) as kb:
        document = kb.document(title)
        assert document.title == RECORDS[0]["title"]
        assert document.sentences[0].startswith("He drank _absinthe_ in a cafe\u0301")
        text = f"She read {title} twice, near Mo\u00adss."
        mentions = list(find_mentions(kb, text))
        assert [mention.titles for mention in mentions] == [(document.title,), ("Moss",)]
        assert [text[m.start : m.end] for m in mentions] == [title, "Mo\u00adss"]
        assert [found for found, _ in kb.complete(title[:4])] == [document.title]


def test_added_and_compacted_documents(kb_path, tmp_path):
    new = corpus(tmp_path, [{"title": "L’Ile", "text": "It has an ﬁeld."}], "n.jsonl")
    add(new, kb_path, progress=False)
    for _ in range(2):
        with KnowledgeBase.open(kb_path) as kb:
            assert kb.document("L'Ile").title == "L’Ile"
            assert kb.search(["field"], 1)[0][0].title == "L’Ile"
        compact(kb_path, progress=False)


@pytest.mark.parametrize("policy", ["replace", "skip"])
def test_a_replaced_document_gets_its_new_title(tmp_path, policy):
    folder, kb_path = tmp_path / "files", tmp_path / "kb"
    for name, text in (("a/README.md", "# Oak\n\nOld."), ("b/README.md", "# Oak\n\nTwin.")):
        file = folder / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    build(folder, kb_path, bm25="none", progress=False)
    (folder / "a/README.md").write_text("# Elm\n\nNew.")
    (folder / "b/README.md").write_text("# Oak\n\nTwin again.")
    add(folder, kb_path, on_duplicate=policy, progress=False)
    with KnowledgeBase.open(kb_path) as kb:
        replaced = policy == "replace"
        assert sorted(kb.titles()) == (["Elm", "Oak (b)"] if replaced else ["Oak (a)", "Oak (b)"])
        assert kb.document("Oak (b)").sentences == (("Twin again.",) if replaced else ("Twin.",))


def test_a_record_that_is_replaced_by_its_id_gets_its_new_title(tmp_path):
    kb_path = tmp_path / "kb"
    records = [{"_id": str(n), "title": f"T{n}", "text": f"Text {n}."} for n in range(3)]
    build(corpus(tmp_path, records), kb_path, format="beir", bm25="none", progress=False)
    changed = [
        {"_id": "0", "title": "New", "text": "Text new."},
        {"_id": "1", "title": "T2", "text": "Text taken."},
    ]
    path = corpus(tmp_path, changed, "n.jsonl")
    report = add(path, kb_path, format="beir", on_duplicate="replace", progress=False)
    assert (report.added, report.replaced) == (0, 2)
    with KnowledgeBase.open(kb_path) as kb:
        assert sorted(kb.titles()) == ["New", "T2", "T2 (1)"]


def test_rare_words_count_more_and_the_first_of_equals_wins():
    documents = [
        Document("A", ("the common common", "common rare", "rare common")),
        Document("B", ("common", "common")),
        Document("C", ("else",)),
        Document("D", ()),
    ]
    best = best_sentences("common rare", documents)
    assert [sentence and sentence.index for sentence in best] == [1, 0, 0, None]


def test_the_words_with_the_terms_of_a_query_match():
    text = "🎉 The host’s Emmy, then those whom the awards’ HOSTS left: ghosts and the."
    found = [text[start:end] for start, end in matching_words("the hosting of an Emmy", text)]
    assert found == ["host’s", "Emmy", "HOSTS"]
    assert matching_words("the of", text) == matching_words("Emmy", "") == []
