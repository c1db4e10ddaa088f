"""WordNet's relations, its installation and its absence."""

import nltk
import pytest
from click.testing import CliRunner

from proofs import LexicalJudge, NatOp, annotate, default_lexicon
from proofs.lexicons import open_wordnet
from proofs.lexicons.install_wordnet import WordNetError, install, main
from tests.proofs import tiny_wordnet


@pytest.fixture
def database(tmp_path):
    return tiny_wordnet.write(tmp_path / "files" / "dict")


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


def opened(database, directory):
    install([database], directory)
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
def test_relations(database, search_path, claim, evidence, expected):
    relation = opened(database, search_path).word_relation(claim, evidence)
    assert (relation and relation.value) == expected


def test_proofs_use_six_operators_and_annotations_four(database, search_path):
    opened(database, search_path)
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


def test_install_copies_the_files_of_all_folders(database, search_path):
    exceptions = database.parent / "exceptions" / "data"
    exceptions.mkdir(parents=True)
    for path in database.glob("*.exc"):
        path.rename(exceptions / path.name)
    with pytest.raises(WordNetError, match=r"noun\.exc, verb\.exc.*not in the given folders"):
        install([database], search_path)
    assert not search_path.exists()
    for _ in range(2):  # the second installation replaces the first
        target = install([database, exceptions.parent], search_path)
    assert target == search_path / "corpora" / "wordnet"
    assert list(target.parent.iterdir()) == [target]
    assert len((target / "lexnames").read_text().splitlines()) == 45
    lexicon = open_wordnet()
    assert lexicon is not None
    assert lexicon.word_relation("sang", "sing") is NatOp.EQUIVALENCE


def test_install_command(database, search_path, tmp_path):
    run = CliRunner().invoke(main, ["--to", str(search_path), str(database)])
    assert (run.exit_code, run.output) == (0, f"{search_path / 'corpora' / 'wordnet'}\n")
    run = CliRunner().invoke(main, ["--to", str(search_path), str(search_path / "corpora" / "x")])
    assert run.exit_code == 2
    assert "does not exist" in run.output
    (tmp_path / "empty").mkdir()
    run = CliRunner().invoke(main, ["--to", str(search_path), str(tmp_path / "empty")])
    assert run.exit_code == 1
    assert "not in the given folders" in run.output


@pytest.mark.data
def test_the_real_wordnet():
    lexicon = open_wordnet()
    if lexicon is None:
        pytest.skip("WordNet's data is not installed: python -m proofs.lexicons.install_wordnet")
    for claim, evidence, expected in [
        ("film", "movie", NatOp.EQUIVALENCE),
        ("entertainer", "comedian", NatOp.FORWARD),
        ("comedian", "entertainer", NatOp.REVERSE),
        ("hot", "cold", NatOp.NEGATION),
        ("oslo", "comedian", None),
    ]:
        assert lexicon.word_relation(claim, evidence) is expected
