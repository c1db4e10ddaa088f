"""Stages and documents for tests of the hop loop and the pipeline, without a model or an index."""

from admiral.config import RetrievalConfig
from admiral.records import Document, DocumentSet, Proximity, ScoredTitle, Sentence
from admiral.retrieval.document_ranking import MIN_PROXIMITY
from admiral.retrieval.stage_assembly import Stages
from proofs import Judgement


class FakeDocuments:
    """Documents of three sentences each: any title exists."""

    def document(self, title):
        return Document(title, tuple(f"{title} {index}" for index in range(3)))


class FakeDocumentReader:
    """Read three sentences of each document, or only the second one; any title exists."""

    def __init__(self, second_only=False):
        self.second_only = second_only
        self.calls = []

    def read(self, claims, evidence, titles):
        self.calls.append((list(claims), [list(s) for s in evidence], [list(t) for t in titles]))
        if self.second_only:
            return [[Document(title, ("", f"{title} 1", "")) for title in own] for own in titles]
        return [[FakeDocuments().document(title) for title in own] for own in titles]


class FakeFirstStage:
    """Return the same candidates for every claim."""

    def __init__(self, titles="abc"):
        self.titles = titles
        self.calls = []

    def candidates(self, claims, mentions, k):
        self.calls.append((list(claims), [list(titles) for titles in mentions], k))
        ranked = [ScoredTitle(t, 1.0 - i / 10) for i, t in enumerate(self.titles)]
        return [ranked[:k] for _ in claims]


class FakeReranker:
    """Score sentences by a table of titles (default 0), minus their index."""

    def __init__(self, scores=None):
        self.scores = scores or {}
        self.calls = []

    def score(self, claims, documents, evidence):
        read = [[document.title for document in batch] for batch in documents]
        self.calls.append((list(claims), read, [list(sentences) for sentences in evidence]))
        return [self._scored(batch) for batch in documents]

    def _scored(self, documents):
        sentences = [
            Sentence(document.title, index, text, self.scores.get(document.title, 0) - index)
            for document in documents
            for index, text in enumerate(document.sentences)
            if text
        ]
        return sorted(sentences, key=lambda sentence: -sentence.score)


class FakeJudge:
    """Find evidence sufficient from the given call on."""

    def __init__(self, sufficient_from=1):
        self.sufficient_from = sufficient_from
        self.calls = []

    def judge(self, claims, evidence):
        self.calls.append((list(claims), [list(pairs) for pairs in evidence]))
        return [Judgement(len(self.calls) >= self.sufficient_from, None) for _ in claims]


class FakeHopRetriever:
    """Extend the first evidence document by a new title at every hop: "new1", "new2", ..."""

    def __init__(self, dead_end_at=99):
        self.dead_end_at = dead_end_at
        self.calls = []

    def expand(self, claims, evidence, hops):
        self.calls.append((list(claims), list(hops)))
        return [
            [DocumentSet((sentences[0].title, f"new{hop}"), -0.5)] if hop < self.dead_end_at else []
            for sentences, hop in zip(evidence, hops, strict=True)
        ]


class FakeMentionFinder:
    """Find single letters: those of a claim after "about", and "m" in all evidence."""

    def __init__(self):
        self.texts = []
        self.evidence_calls = 0

    def in_text(self, text):
        self.texts.append(text)
        return list(text.partition("about ")[2])

    def in_evidence(self, evidence):
        self.evidence_calls += 1
        return ["m"] if evidence else []


class FakeGraphProximity:
    """Take proximities from a table; other documents are as far as can be."""

    def __init__(self, near):
        self.near = near

    def proximity(self, claims, evidence, titles):
        far = Proximity(MIN_PROXIMITY, 0.0)
        return [{title: self.near.get(title, far) for title in own} for own in titles]


class FakeDocumentScorer:
    """Score documents by one feature, and reverse rankings."""

    def __init__(self, feature, weight):
        self.feature, self.weight = feature, weight

    def score(self, features):
        return self.weight * features[self.feature]

    def rank(self, documents, features):
        assert {document.title for document in documents} <= set(features)
        return list(reversed(documents))


def fake_stages(**replaced):
    """Return fake stages, without mention finder and document scorer unless given."""
    stages = {
        "mention_finder": None,
        "document_reader": FakeDocumentReader(),
        "document_scorer": None,
        "graph": None,
        "first_stage": FakeFirstStage(),
        "reranker": FakeReranker(),
        "judge": FakeJudge(),
        "hop_retriever": FakeHopRetriever(),
    }
    return Stages(**{**stages, **replaced})


def small_config(**settings):
    """Return settings with small limits."""
    limits = {"evidence": 2, "evidence_per_document": 1, "rerank_documents": 3}
    return RetrievalConfig(**{**limits, **settings})
