"""Lexicons: built-in relations, pair lists, WordNet's absence."""

import logging
from pathlib import Path

import pytest

from proofs import NatOp, PairLexicon, default_lexicon
from proofs.wordnet import WordNetLexicon, open_wordnet


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("was hosted", "hosts", "="),
        ("The Port Merrow lighthouse", "Port Merrow's Lighthouse,", "="),
        ("the third lighthouse", "the 3rd lighthouse", "="),
        ("twelve engineers", "12 engineers", "="),
        ("born in 1873", "born in 1874", "|"),
        ("1,000 engineers", "2000 engineers", None),  # 2000 reads as a year
        ("1,000 engineers", "900 engineers", "|"),
        ("the third lighthouse", "the second lighthouse", "|"),
        ("an Irish engineer", "an Italian engineer", "|"),
        ("an English engineer", "a British engineer", None),
        ("was an engineer", "was not an engineer", "!"),
        ("never an engineer", "an engineer", "!"),
        ("was not an engineer", "was not an engineer", "="),
        ("one engineer", "two engineers", None),
        ("an engineer", "a comedian", None),
        ("an Irish engineer born in 1873", "an Irish engineer", None),
        ("of the", "of the", None),
        ("an engineer", "", None),
    ],
)
def test_builtin_relations(claim: str, evidence: str, expected: str | None) -> None:
    relation = default_lexicon().relation(claim, evidence)
    assert (relation and relation.value) == expected


def test_pair_lists(tmp_path: Path) -> None:
    antonyms = tmp_path / "antonyms.txt"
    antonyms.write_text("# comment\nen_alive\ten_dead\n\nbig,small,tiny\n", encoding="utf-8")
    lexicon = default_lexicon(PairLexicon.read(antonyms, NatOp.NEGATION))
    assert lexicon.relation("she is alive", "she was dead") is NatOp.NEGATION
    assert lexicon.relation("tiny house", "big house") is NatOp.NEGATION
    assert lexicon.relation("tiny house", "small house") is None
    assert default_lexicon().relation("she is alive", "she was dead") is None


@pytest.mark.parametrize(("content", "line"), [(b"a b\nlonely\n", 2), (b"\xff b\n", 1)])
def test_bad_lists_name_file_and_line(tmp_path: Path, content: bytes, line: int) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"list\.txt:{line}"):
        PairLexicon.read(path, NatOp.NEGATION)


def test_missing_wordnet_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    open_wordnet.cache_clear()
    try:
        with caplog.at_level(logging.WARNING):
            if open_wordnet() is not None:
                pytest.skip("WordNet was loaded before")
            assert default_lexicon(wordnet=True).relation("a dog", "dogs") is NatOp.EQUIVALENCE
        assert len(caplog.records) == 1
        assert "wordnet" in caplog.text.lower()
    finally:
        open_wordnet.cache_clear()


def test_wordnet_relations() -> None:
    """On six words with the relations that NLTK's reader gives them."""
    reader = _small_wordnet()
    lexicon = WordNetLexicon(reader)
    assert lexicon.word_relation("car", "auto") is NatOp.EQUIVALENCE
    assert lexicon.word_relation("car", "truck") is NatOp.ALTERNATION
    assert lexicon.word_relation("hot", "cold") is NatOp.NEGATION
    assert lexicon.word_relation("hot", "car") is None
    assert lexicon.word_relation("hot", "unheard") is None


class _Lemma:
    def __init__(self, name: str) -> None:
        self.name, self.opposites = name, []

    def antonyms(self) -> list:
        return self.opposites


class _Synset:
    def __init__(self, *names: str, parent: object = None) -> None:
        self.items, self.parent = [_Lemma(n) for n in names], parent

    def lemmas(self) -> list:
        return self.items

    def hypernyms(self) -> list:
        return [] if self.parent is None else [self.parent]


class _Reader:
    def __init__(self, synsets: list) -> None:
        self.all = synsets

    def synsets(self, word: str) -> list:
        return [s for s in self.all if any(lemma.name == word for lemma in s.lemmas())]


def _small_wordnet() -> _Reader:
    vehicle = _Synset("vehicle")
    hot, cold = _Synset("hot"), _Synset("cold")
    hot.items[0].opposites, cold.items[0].opposites = [cold.items[0]], [hot.items[0]]
    cars = _Synset("car", "auto", parent=vehicle), _Synset("truck", parent=vehicle)
    return _Reader([vehicle, hot, cold, *cars])
