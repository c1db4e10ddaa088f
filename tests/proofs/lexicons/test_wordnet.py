"""WordNet's relations, and its absence."""

import nltk
import pytest

from proofs import LexicalJudge, NatOp, annotate, default_lexicon
from proofs.lexicons import open_wordnet
from tests.proofs import tiny_wordnet


@pytest.fixture
def search_path(monkeypatch, tmp_path):
    """The only folder in which NLTK looks for data, with no data loaded."""
    from nltk.corpus.reader import WordNetCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    unloaded = LazyCorpusLoader(
        "wordnet", WordNetCorpusReader, LazyCorpusLoader("omw-1.4", WordNetCorpusReader)
    )
    monkeypatch.setattr("nltk.corpus.wordnet", unloaded)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    open_wordnet.cache_clear()
    yield tmp_path / "nltk_data"
    # Once used, the loader has become a reader, which leaves its files open.
    if isinstance(unloaded, WordNetCorpusReader):
        for file in unloaded._data_file_map.values():
            file.close()
    open_wordnet.cache_clear()


def opened(directory):
    tiny_wordnet.write(directory / "corpora" / "wordnet")
    lexicon = open_wordnet()
    assert lexicon is not None
    return lexicon


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("comedian", "comic", "="),
        ("rapidly", "quickly", "="),
        ("sang", "sing", "="),
        ("performers", "comedian", "<"),
        ("person", "comedian", "<"),
        ("comedian", "person", ">"),
        ("city", "oslo", "<"),
        ("hot", "cold", "!"),
        ("comedian", "singer", None),
        ("comedian", "oslo", None),
        ("comedian", "unheard", None),
    ],
)
def test_relations(search_path, claim, evidence, expected):
    relation = opened(search_path).word_relation(claim, evidence)
    assert (relation and relation.value) == expected


def test_proofs_use_six_operators_and_annotations_four(search_path):
    opened(search_path)
    lexicon = default_lexicon(wordnet=True)
    general, specific = "Bo Lind is an entertainer.", "Bo Lind is a comedian."
    for claim, sentence, verdict in [
        (general, specific, "SUPPORTS"),
        (specific, general, "NOT ENOUGH INFO"),
    ]:
        evidence = [("Bo Lind", sentence)]
        (judgement,) = LexicalJudge(lexicon).judge([claim], [evidence])
        assert judgement.verdict is not None
        assert judgement.verdict.value == verdict
        # Annotations have only four operators.
        for sufficient in (True, False):
            proof = annotate(claim, evidence, sufficient, lexicon=lexicon)
            assert {o.value for o in proof.operators} <= set("=#")
            assert proof.sufficient is sufficient


@pytest.mark.data
def test_the_real_wordnet():
    lexicon = open_wordnet()
    if lexicon is None:
        pytest.skip("WordNet's data is not installed: python -m nltk.downloader wordnet")
    for claim, evidence, expected in [
        ("film", "movie", NatOp.EQUIVALENCE),
        ("entertainer", "comedian", NatOp.FORWARD),
        ("comedian", "entertainer", NatOp.REVERSE),
        ("hot", "cold", NatOp.NEGATION),
        ("oslo", "comedian", None),
    ]:
        assert lexicon.word_relation(claim, evidence) is expected
