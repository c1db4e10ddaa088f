"""Tests of reading and using word lists."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import LexicalJudge, NatOp, PairLexicon, default_lexicon
from proofs.judges.calibrated import CalibratedJudge
from proofs.logic.words import normalise

WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5)


def test_antonyms_and_paraphrases_relate_spans(tmp_path: Path) -> None:
    antonyms, paraphrases = tmp_path / "antonyms.txt", tmp_path / "paraphrases.txt"
    antonyms.write_text("# comment\nen_alive en_dead\n\nbig\tsmall\n", encoding="utf-8")
    paraphrases.write_text("1,800 1800\nwed married\n\x1d \x16\n. wed\n", encoding="utf-8")
    lexicon = default_lexicon(
        PairLexicon.read(antonyms, NatOp.NEGATION),
        PairLexicon.read(paraphrases, NatOp.EQUIVALENCE),
    )
    assert lexicon.relation("she is alive", "she was dead") is NatOp.NEGATION
    assert lexicon.relation("small house", "big house") is NatOp.NEGATION
    assert lexicon.relation("she wed Al", "Al married") is NatOp.EQUIVALENCE
    assert lexicon.word_relation("1,800", "1800") is NatOp.EQUIVALENCE
    assert default_lexicon().relation("she is alive", "she was dead") is None
    evidence = [("Ada", "Ada married Al in Oslo.")]
    for tested in (lexicon, default_lexicon()):
        (judgement,) = LexicalJudge(tested).judge(["Ada wed in Oslo."], [evidence])
        assert judgement.sufficient is (tested is lexicon)


def test_phrases_relate_spans(tmp_path: Path) -> None:
    paraphrases, antonyms = tmp_path / "paraphrases.txt", tmp_path / "antonyms.txt"
    paraphrases.write_text(
        "motion picture\tfilm\nprime minister\thead of the Government\n"
        "en_new_year's_eve en_silvester\n"
    )
    antonyms.write_text("box office hit\tflop\n")
    lexicon = default_lexicon(
        PairLexicon.read(paraphrases, NatOp.EQUIVALENCE), PairLexicon.read(antonyms, NatOp.NEGATION)
    )
    for claim, evidence, expected in [
        ("a motion picture", "a film", "="),
        ("a film", "the motion picture", "="),
        ("not a motion picture", "a film", "!"),
        ("the head of the government", "prime minister", "="),
        ("on New Year's Eve", "Silvester", "="),
        ("was a flop", "was a box office hit", "!"),
        ("a minister", "the prime minister", "="),
        ("a motion", "a film", None),
    ]:
        relation = lexicon.relation(claim, evidence)
        assert (relation and relation.value) == expected, claim
    for judge in (LexicalJudge(lexicon), CalibratedJudge(lexicon=lexicon)):
        for claim, sentence, quoted, operator in [
            ("Merrow is a motion picture.", "Merrow is a film.", "is a film", "="),
            ("Merrow is a film.", "Merrow is a motion picture.", "is a motion picture", "="),
            ("Merrow was a flop.", "Merrow was a box office hit.", "was a box office hit", "!"),
        ]:
            (judgement,) = judge.judge([claim], [[("Merrow", sentence)]])
            assert judgement.sufficient
            assert judgement.proof is not None
            last = judgement.proof.steps[-1]
            assert (last.evidence, last.operator.value) == (quoted, operator)


@given(st.lists(st.lists(WORDS, min_size=2, max_size=4), max_size=5))
def test_pairs_equal_the_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("lists") / "list.txt"
    path.write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
    lexicon = PairLexicon.read(path, NatOp.ALTERNATION)
    norms = [[normalise(word) for word in line] for line in lines]
    pairs = {(line[0], right) for line in norms for right in line[1:]}
    for left in {word for line in norms for word in line}:
        for right in {word for line in norms for word in line}:
            listed = (left, right) in pairs or (right, left) in pairs
            assert (lexicon.word_relation(left, right) is NatOp.ALTERNATION) is listed


@pytest.mark.parametrize(("content", "line"), [(b"a b\nlonely\n", 2), (b"\xff b\n", 1)])
def test_bad_list_raises_with_file_and_line(tmp_path: Path, content: bytes, line: int) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"list\.txt:{line}"):
        PairLexicon.read(path, NatOp.NEGATION)
    with pytest.raises(ValueError, match="both directions"):
        PairLexicon.read(path, NatOp.FORWARD)
