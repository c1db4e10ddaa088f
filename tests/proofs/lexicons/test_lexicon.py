"""Tests of the built-in lexicon and its relations of spans."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import LexicalJudge, NatOp, PairLexicon, default_lexicon
from proofs.lexicons.values import (
    Amounts,
    excludes,
    merge_values,
    quantifier,
    relation,
    same_value,
    value,
)
from proofs.logic.words import normalise
from tests.proofs.helpers import spelled


@pytest.mark.parametrize(
    ("claim", "evidence", "expected"),
    [
        ("was hosted", "hosts", "="),
        ("The Port Merrow lighthouse", "Port Merrow's Lighthouse,", "="),
        ("the third lighthouse", "the 3rd lighthouse", "="),
        ("twelve engineers", "12 engineers", "="),
        ("born in 1873", "born in 1874", "|"),
        ("1,000 engineers", "2000 engineers", None),  # 2000 reads as a year
        ("2,000 engineers", "2000 engineers", "="),
        ("two hundred and five engineers", "205 engineers", "="),
        ("1.5 million engineers", "1,500,000 engineers", "="),
        ("twenty-one engineers", "22 engineers", "|"),
        ("on December 28, 1973", "December 28th 1973", "="),
        ("on 3 May", "the third of May", "="),
        ("in the 1870s", "in 1873", "<"),
        ("in 1873", "in the 1870s", ">"),
        ("in the 1870s", "in 1883", "|"),
        ("from Iraq", "Iraqi", "="),
        ("of the United States", "an American", "="),
        ("in New Zealand", "in Zealand", None),
        ("in Iraq", "in Iran", None),
        ("not an Irish engineer", "an Italian engineer", "<"),
        ("an Irish engineer", "not an Italian engineer", ">"),
        ("all engineers", "some engineers", ">"),
        ("some engineers", "all engineers", "<"),
        ("most engineers", "no engineers", "|"),
        ("some engineers", "no engineers", "!"),
        ("not all engineers", "all engineers", "!"),
        ("no engineers", "no engineers", "="),
        ("at least five engineers", "7 engineers", "<"),
        ("7 engineers", "at least five engineers", ">"),
        ("at most five engineers", "7 engineers", "|"),
        ("at most five engineers", "more than 5 engineers", "!"),
        ("more than five engineers", "fewer than 9 engineers", None),
        ("exactly five engineers", "five engineers", "="),
        ("at least five comedians", "7 engineers", None),
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
def test_builtin_relations(claim, evidence, expected):
    relation = default_lexicon().relation(claim, evidence)
    assert (relation and relation.value) == expected


WORDS = ["irish", "ireland", "british", "1873", "1,873", "1870s", "1880s", "third", "3rd", "three",
         "may", "engineer", "engineers", "united states", "one", "2", "not", "\x16"]  # fmt: skip
words = st.sampled_from(WORDS) | st.text(min_size=1, max_size=6).map(normalise)


def test_antonyms_and_paraphrases_relate_spans(tmp_path):
    antonyms, paraphrases = tmp_path / "antonyms.txt", tmp_path / "paraphrases.txt"
    antonyms.write_text("# comment\nen_alive en_dead\n\nbig\tsmall\n", encoding="utf-8")
    paraphrases.write_text("1,800 1800\nwed married\n\x1d \x16\n. wed\n", encoding="utf-8")
    lexicon = default_lexicon(
        PairLexicon.read(antonyms, NatOp.NEGATION), PairLexicon.read(paraphrases, NatOp.EQUIVALENCE)
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


def test_phrases_relate_spans(tmp_path):
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
    for claim, sentence, quoted, operator in [
        ("Merrow is a motion picture.", "Merrow is a film.", "is a film", "="),
        ("Merrow is a film.", "Merrow is a motion picture.", "is a motion picture", "="),
        ("Merrow was a flop.", "Merrow was a box office hit.", "was a box office hit", "!"),
    ]:
        (judgement,) = LexicalJudge(lexicon).judge([claim], [[("Merrow", sentence)]])
        assert judgement.sufficient
        assert judgement.proof is not None
        last = judgement.proof.steps[-1]
        assert (last.evidence, last.operator.value) == (quoted, operator)


def test_equivalent_phrases_of_ppdb_are_read(tmp_path):
    path = tmp_path / "ppdb.txt"
    features = "PPDB2.0Score=3.2 Abstract=0 ||| 0-0"
    path.write_text(
        f"[NN] ||| motion picture ||| film ||| {features} ||| Equivalence\n"
        f"[NN] ||| actor ||| artist ||| {features} ||| ForwardEntailment\n"
        f"[VBD] ||| wed ||| married ||| {features}\n"
    )
    lexicon = PairLexicon.read(path, NatOp.EQUIVALENCE)
    assert lexicon.pairs == {"motion picture": {"film"}, "wed": {"married"}}


@pytest.mark.parametrize(("content", "line"), [(b"a b\nlonely\n", 2), (b"\xff b\n", 1)])
def test_bad_list_raises_with_file_and_line(tmp_path, content, line):
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"list\.txt:{line}"):
        PairLexicon.read(path, NatOp.NEGATION)
    with pytest.raises(ValueError, match="both directions"):
        PairLexicon.read(path, NatOp.FORWARD)


@given(st.integers(0, 10**12 - 1))
def test_spelled_numbers_merge_into_digits(number):
    (digits,) = merge_values(spelled(number).split())
    assert value(digits) in (("number", str(number)), ("year", str(number)))
    assert same_value(digits, f"{number:,}")


@given(st.integers(0, 9999), st.integers(0, 9999))
def test_ordinals_are_equal_or_exclude_each_other(left, right):
    assert same_value(f"{left}th", f"{right}th") is (left == right)
    assert excludes(f"{left}th", f"{right}th") is (left != right)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two three", "two|three"),
        ("five and six", "five|and|six"),
        ("hundred and one", "hundred|and|one"),
        ("two hundred and", "200|and"),
        ("nineteen seventy", "1970"),
        ("1.5 million span_trie", "1500000|span_trie"),
        ("28 december 1973", "28th|december|1973"),
        ("the united states of america", "the|united states|of|america"),
    ],
)
def test_merge_values_examples(text, expected):
    assert "|".join(merge_values(text.split())) == expected


TEXTS = [
    *(f"{words} {n}" for n in (2, 3, 4) for words in ("at least", "at most", "more than",
      "fewer than", "less than", "over", "under", "up to", "exactly", "no fewer than",
      "no more than")),
]  # fmt: skip
# Halves represent the numbers between whole numbers.
POSSIBLE = [n / 2 for n in range(18)]


def holds(quantity, n):
    (low, above), (high, below) = quantity.low, quantity.high
    return (n > low if above else n >= low) and (n < high if below else n <= high)


def relation_of(claim, evidence, everything):
    """Return the relation of evidence and claim by the definitions of natural logic."""
    if claim == evidence:
        return NatOp.EQUIVALENCE
    if evidence < claim:
        return NatOp.FORWARD
    if claim < evidence:
        return NatOp.REVERSE
    if not claim & evidence:
        return NatOp.NEGATION if claim | evidence == everything else NatOp.ALTERNATION
    return None


def read(text):
    quantity, rest = quantifier([*text.split(), "things"])
    assert quantity is not None
    assert rest == ["things"]
    return quantity


def test_amount_relations_equal_set_relations():
    for left, right in product(TEXTS, repeat=2):
        claim, evidence = read(left), read(right)
        assert isinstance(claim, Amounts)
        assert isinstance(evidence, Amounts)
        sets = [{n for n in POSSIBLE if holds(q, n)} for q in (claim, evidence)]
        assert relation(claim, evidence) is relation_of(*sets, set(POSSIBLE)), (left, right)


@pytest.mark.parametrize(
    ("text", "shares"),
    [
        ("all", {5}),
        ("every", {5}),
        ("each", {5}),
        ("no", {0}),
        ("none", {0}),
        ("some", {1, 2, 3, 4, 5}),
        ("several", {1, 2, 3, 4, 5}),
        ("most", {3, 4, 5}),
        ("not all", {0, 1, 2, 3, 4}),
        ("not most", {0, 1, 2}),
    ],
)
def test_share_relations_equal_set_relations(text, shares):
    everything = set(range(6))
    sets_of_words = {"all": {5}, "no": {0}, "some": everything - {0}, "most": {3, 4, 5}}
    for right, counts in sets_of_words.items():
        expected = relation_of(shares, counts, everything)
        assert relation(read(text), read(right)) is expected, (text, right)
