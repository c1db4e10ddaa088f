"""Tests of the calibrated judge and its weights."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import LexicalJudge, NatOp, PairLexicon, default_lexicon
from proofs.drafting import draft_steps
from proofs.judges.calibrated import (
    FEATURES,
    STEP_FEATURES,
    WEIGHTS,
    CalibratedJudge,
    FeatureExtractor,
    Weights,
    covered_by_one_document,
)
from proofs.judges.claim_features import (
    CLAIM_FEATURES,
    ClaimWording,
    DocumentLinks,
    WordCoverage,
    claim_features,
)
from proofs.judges.fitted_weights import (
    HiddenUnit,
    fields,
    network_score,
    numbers,
    read_units,
    read_weights,
)
from proofs.logic.words import split_words
from tests.proofs.helpers import claims, evidence

CLAIM = "The lighthouse at Port Merrow was built by an Irish engineer."
LIGHTHOUSE = ("Port Merrow Lighthouse", "The lighthouse at Port Merrow was built by Ada Quill.")
ENGINEER = ("Ada Quill", "Ada Quill was an Irish engineer.")
EXTRACTOR = FeatureExtractor(default_lexicon())


def weights(threshold=0.0, **features):
    return Weights((HiddenUnit(1.0, 0.0, dict.fromkeys(FEATURES, 0.0) | features),), threshold)


def test_features_can_be_counted_by_hand():
    features = EXTRACTOR.extract(CLAIM, [LIGHTHOUSE, ENGINEER, ("Rain", "It rains.")])
    assert [item.claim for item in features.drafts] == [
        "The lighthouse",
        "at Port Merrow",
        "was built",
        "by an Irish engineer.",
    ]
    claim = dict(zip(CLAIM_FEATURES, features.claim, strict=True))
    assert (claim["words"], claim["steps"], claim["documents"]) == (1.1, 4, 3)
    assert (claim["named"], claim["links"], claim["linked"], claim["largest"]) == (0, 1, 2, 2)
    lacking = EXTRACTOR.extract(CLAIM, [LIGHTHOUSE])
    last = dict(zip(STEP_FEATURES, lacking.steps[-1], strict=True))
    assert (last["names"], last["others"], last["independent"]) == (1, 1, 1)
    assert last["coverage"] == last["linked_coverage"] == 0
    assert dict(zip(STEP_FEATURES, features.steps[-1], strict=True))["coverage"] == 1


def test_words_are_covered_by_inflections_and_phrases():
    pairs = PairLexicon(NatOp.EQUIVALENCE, {"took part": frozenset({"participated"})})
    extractor = FeatureExtractor(default_lexicon(pairs))

    def step(claim, sentence):
        (row,) = extractor.extract(claim, [("Rain", sentence)]).steps
        return dict(zip(STEP_FEATURES, row, strict=True))

    assert step("painted", "She paints.")["coverage"] == pytest.approx(0.9)
    assert step("took part", "She participated.")["coverage"] == pytest.approx(0.9)
    assert step("there", "It rains.")["coverage"] == 1  # nothing but stop words
    lost = step("Ada Quill", "It rains.")
    assert (lost["names"], lost["values"], lost["others"]) == (2, 0, 0)


def test_deciding_steps_are_independent():
    judge = CalibratedJudge(weights(0.5, names=1.0))
    enough, partly = judge.judge([CLAIM] * 2, [[LIGHTHOUSE, ENGINEER], [LIGHTHOUSE]])
    assert enough.sufficient
    assert enough.proof is not None
    assert partly.proof is not None
    assert partly.proof.missing == ("by an Irish engineer.",)
    assert not partly.sufficient
    # A step that words cover is independent if its score says so, and then quotes nothing.
    (strict,) = CalibratedJudge(weights(0.7, coverage=1.0)).judge([CLAIM], [[LIGHTHOUSE]])
    assert strict.proof is not None
    assert strict.proof.missing[:3] == ("The lighthouse", "at Port Merrow", "was built")
    assert all(not s.evidence for s in strict.proof.steps if s.operator is NatOp.INDEPENDENCE)


def test_unquotable_steps_merge_with_a_neighbour():
    content = CalibratedJudge(weights(0.0))  # no step scores more than 0
    joined, alone = content.judge([CLAIM, CLAIM], [[LIGHTHOUSE], [("Rain", "It rains.")]])
    assert joined.sufficient
    assert joined.proof is not None
    assert joined.proof.steps[-1].claim == "was built by an Irish engineer."
    assert joined.proof.steps[-1].evidence.startswith("was built")
    assert not alone.sufficient
    assert alone.proof is not None
    assert alone.proof.operators == (NatOp.INDEPENDENCE,)


FLOATS = st.floats(-3, 3)


@given(claims, evidence, st.dictionaries(st.sampled_from(FEATURES), FLOATS), FLOATS)
def test_proof_agrees_with_the_decision(claim, texts, chosen, threshold):
    fitted = weights(threshold, **chosen)
    (judgement,) = CalibratedJudge(fitted).judge([claim], [texts])
    assert judgement.proof is not None
    judgement.proof.validate(claim, texts)
    assert judgement.sufficient == judgement.proof.sufficient
    if texts:
        features = EXTRACTOR.extract(claim, texts)
        if covered_by_one_document(features):
            assert judgement.sufficient
            return
        high = [score > threshold for score in fitted.scores(features)]
        assert not (any(high) and judgement.sufficient)
        if all(item.similarity >= 0.3 for item in features.drafts):
            assert judgement.sufficient == (not any(high))
            lacking = [op is NatOp.INDEPENDENCE for op in judgement.proof.operators]
            scores = fitted.scores(features)
            assert all(is_high or not lacks for is_high, lacks in zip(high, lacking, strict=True))
            assert not any(high) or lacking[scores.index(max(scores))]


def test_bundled_weights_separate_full_from_partial_evidence():
    judgements = CalibratedJudge().judge([CLAIM] * 3, [[LIGHTHOUSE, ENGINEER], [LIGHTHOUSE], []])
    assert [item.sufficient for item in judgements] == [True, False, False]
    assert CalibratedJudge().judge(["  "], [[ENGINEER]])[0].proof is None


@pytest.mark.parametrize("title", ["", "Paris", "Something else"])
@pytest.mark.parametrize(
    "claim", ["Paris is the capital of France.", "The cat sat on the mat.", ENGINEER[1]]
)
def test_verbatim_evidence_is_sufficient(claim, title):
    (judgement,) = CalibratedJudge().judge([claim], [[(title, claim)]])
    assert judgement.sufficient
    assert judgement.proof is not None
    assert set(judgement.proof.operators) == {NatOp.EQUIVALENCE}
    (unrelated,) = CalibratedJudge().judge([claim], [[(title, "It rains in the hills.")]])
    assert not unrelated.sufficient


@pytest.mark.parametrize(
    ("claim", "title", "sentence", "covered"),
    [
        ("Ada Quill was an engineer.", "Ada Quill", "Ada Quill was an engineer.", True),
        ("Ada Quill was an engineer.", "Rain", "Ada Quill was an engineer.", True),
        ("Ada Quill was an engineer.", "Ada Quill", "Ada Quill was not an engineer.", True),
        ("Ada Quill was born in 1873.", "Ada Quill", "Ada Quill was born in 1874.", True),
        ("Ada Quill was a painter.", "Ada Quill", "Ada Quill was an engineer.", False),
        # Possibly another film.
        ("The film was released in 1990.", "Rain", "The film was released in 1991.", False),
        ("The first film was made by an Irish engineer.", "Zed",
         "The second film was made by a Norwegian engineer.", False),
    ],
)  # fmt: skip
def test_covered_by_one_document(claim, title, sentence, covered):
    assert covered_by_one_document(EXTRACTOR.extract(claim, [(title, sentence)])) is covered
    if covered:
        (judgement,) = CalibratedJudge(weights(-1e6)).judge([claim], [[(title, sentence)]])
        assert judgement.sufficient


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": "high"}, "field 'threshold': expected a number"),
        ({"threshold": float("nan")}, "field 'threshold': expected a number"),
        ({"threshold": 10**400}, "field 'threshold': expected a number"),
        ({"units": None}, "field 'units': expected a list of units"),
        (
            {"units": [{"vote": 1, "bias": 0, "weights": {}}]},
            r"units\[0\].weights.alone': is missing",
        ),
        ({"colour": 1.0}, "field 'colour': is unknown"),
    ],
)
def test_bad_weights_raise_with_the_field(tmp_path, change, message):
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(json.loads(WEIGHTS.read_text()) | change))
    with pytest.raises(ValueError, match=message):
        Weights.read(path)
    for content, message in (
        ("{", "not a file of weights"),
        ("[" * 10**5, "not a file"),
        ("[]", "n: ex"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=message):
            Weights.read(path)


def test_weights_round_trip(tmp_path):
    before = weights(0.25, names=1.5)
    (tmp_path / "weights.json").write_text(before.to_json())
    assert Weights.read(tmp_path / "weights.json") == before


words = st.sampled_from(["ada", "quill", "cork", "rain", "the"])


def features(claim, texts):
    steps = draft_steps(claim, texts, default_lexicon())
    values = claim_features(claim, texts, DocumentLinks.find(claim, texts), steps)
    return dict(zip(CLAIM_FEATURES, values, strict=True))


def test_each_feature_has_its_own_name():
    """The values of most features differ, so that no two can be swapped."""
    claim = (
        "Who built Cork Bridge before Ada Quill, Ida Penn and Joan Firth, whose mills that other "
        "town sold, came? The bridge and the old mill are in Lund."
    )
    texts = [
        ("Cork Bridge", "Ada Quill and Tom Reed drew it, not Eve Lamb."),
        ("Ada Quill", "Ada Quill drew Cork Bridge."),
        ("Tom Reed", "Tom Reed knew Eve Lamb and sold tiles."),
        ("Eve Lamb", "Eve Lamb knew Tom Reed."),
        ("Ida Penn", "She came late."),
        ("Rain", "A town of old mills."),
        ("Rain", "Water."),
    ]
    assert features(claim, texts) == {
        "words": 2.8, "steps": 10, "sharing": 2, "setting_apart": 2, "relative": 3, "definite": 2,
        "stops": 2, "proper_names": 5, "untitled": 2,
        "documents": 6, "named": 3, "described": 0, "described_alone": 0, "described_open": 0,
        "links": 4, "mutual": 2, "between_named": 1, "between_unnamed": 1, "linked": 4,
        "reached": 5, "largest": 4, "alone": 1, "linked_unnamed": 2, "bridges": 2, "led": 0,
        "leading": 1, "sentences": 5,
        "weakest": 0, "second": 0, "uncovered": 5, "uncovered_by_linked": 8,
        "largest_share": 5 / 17, "contributing": 3, "stray": 3,
    }  # fmt: skip


@given(claims.filter(str.split), evidence)
def test_features_of_hostile_texts_are_consistent(claim, texts):
    values = features(claim, texts)
    assert values["reached"] <= values["documents"]
    assert values["bridges"] <= values["linked_unnamed"]
    assert values["described_alone"] <= values["described_open"] <= values["described"]
    assert values["described"] <= values["named"] <= values["documents"]
    assert 0 <= values["largest_share"] <= 1
    assert values["uncovered"] <= values["uncovered_by_linked"]


@given(
    st.lists(words).map(" ".join), st.lists(st.lists(words), max_size=4), st.sets(st.integers(0, 3))
)
def test_word_coverage_equals_brute_force(claim, documents, chosen):
    coverage = WordCoverage.find(claim, documents)
    norms = [word.norm for word in split_words(claim) if word.is_content]
    holders = [[at for at, words in enumerate(documents) if norm in words] for norm in norms]
    assert coverage.missing(chosen) == sum(not set(places) & chosen for places in holders)
    assert coverage.exclusive() == {
        at: count for at in range(len(documents)) if (count := holders.count([at]))
    }
    counts = [sum(at in places for places in holders) for at in range(len(documents))]
    assert coverage.largest_share == (max(counts, default=0) / len(norms) if norms else 0)


def test_counts_of_an_example():
    wording = ClaimWording.count(
        "The director of The Hurt Locker, who was born in California, is not the older sister of "
        "Ada Quill. Both also acted."
    )
    assert (wording.sharing, wording.contrast, wording.relative) == (2, 2, 1)
    assert (wording.definite, wording.sentences) == (2, 2)
    assert wording.names == (("hurt", "locker"), ("california",), ("ada", "quill"))


def test_names_continue_over_connectors_and_end_with_the_sentence():
    assert ClaimWording.count("He saw the Bay of Bengal. Ada sang.").names == (
        ("bay", "of", "bengal"),
        ("ada",),
    )
    assert ClaimWording.count("In 1990 the Bank of").names == (("bank",),)
    assert ClaimWording.count("").names == ()
    assert ClaimWording.count("and 1990").names == ()


@given(claims)
def test_names_occur_in_the_claim(claim):
    wording = ClaimWording.count(claim)
    norms = [word.norm for word in split_words(claim) if word.norm]
    for name in wording.names:
        starts = range(len(norms) - len(name) + 1)
        assert any(tuple(norms[at : at + len(name)]) == name for at in starts)
    assert wording.relative == len(
        [norm for norm in norms if re.fullmatch("who|whose|which|that|where", norm)]
    )


BRIDGE = ("Port Merrow Lighthouse (Ireland)", "It was built by Ada Quill.")
PERSON = ("Ada Quill", "An engineer from Cork.")
CITY = ("Cork", "A city in Ireland.")
OTHER = ("Corkscrew", "A tool.")
LINKED_CLAIM = "Port Merrow Lighthouse was built by an engineer from Cork."


def test_links_form_a_chain_from_the_claim():
    links = DocumentLinks.find(
        LINKED_CLAIM, [BRIDGE, PERSON, CITY, OTHER, (BRIDGE[0], "It is white.")]
    )
    assert links.titles == tuple(title for title, _ in (BRIDGE, PERSON, CITY, OTHER))
    assert links.named == (True, False, True, False)
    assert [sorted(n) for n in links.neighbours] == [[1], [0, 2], [1], []]
    assert [sorted(n) for n in links.naming] == [[1], [2], [], []]
    assert links.largest == 3
    assert links.relevant == links.reached == {0, 1, 2}
    broken = DocumentLinks.find("Ada built it.", [BRIDGE, CITY])
    assert broken.naming == (frozenset(),) * 2
    assert broken.reached == frozenset()
    assert broken.largest == 1
    assert DocumentLinks.find(LINKED_CLAIM, []).largest == 0


titles = st.lists(st.sampled_from(["Ada", "Quill", "Cork", "of", "(x)"]), max_size=4).map(" ".join)


@given(titles, st.lists(st.tuples(titles, titles), max_size=5))
def test_components_equal_transitive_closure(claim, texts):
    links = DocumentLinks.find(claim, texts)
    count = len(links.titles)
    linked = {(a, b) for a in range(count) for b in links.neighbours[a]}
    assert all((b, a) in linked and a != b for a, b in linked)
    for _ in range(count):
        linked |= {(a, d) for (a, b), (c, d) in itertools.product(linked, linked) if b == c}
    named = {at for at in range(count) if links.named[at]}
    assert links.reached == named | {b for a, b in linked if a in named}
    sizes = [len({b for a, b in linked if a == at} | {at}) for at in range(count)]
    assert links.largest == max(sizes, default=0)


FINE = st.integers(-1_000_000, 1_000_000) | st.floats(-1e6, 1e6)
HERE = Path("weights.json")


@given(st.dictionaries(st.text(), FINE))
def test_numbers_are_read_as_floats(record):
    values = numbers(HERE, "", record, tuple(record))
    assert values == record
    assert all(isinstance(value, float) for value in values.values())


@given(
    st.dictionaries(st.sampled_from("abcd"), FINE, min_size=1),
    st.sampled_from([None, "7", True, [], 1_000_001, -1e7, 10**400, float("nan"), float("-inf")]),
)
def test_bad_number_raises_with_the_field(record, wrong):
    name = max(record)
    with pytest.raises(ValueError, match=rf"^weights.json: field 'x.{name}': expected a number"):
        numbers(HERE, "x", record | {name: wrong}, tuple(record))


@given(st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("abcd")))
def test_fields_must_match_exactly(actual, expected):
    record = dict.fromkeys(actual, 1)
    if actual == expected:
        assert fields(HERE, "", record, sorted(expected)) == record
        return
    first = min(actual ^ expected)
    message = f"field '{first}': is {'missing' if first in expected else 'unknown'}; fit it anew"
    with pytest.raises(ValueError, match=re.escape(message)):
        fields(HERE, "", record, sorted(expected))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff{}", b"[" * 10**5, None])
def test_bad_file_raises(tmp_path, content):
    path = tmp_path / "weights.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"weights\.json: not a file of weights .*; fit it anew$"):
        read_weights(path, ("a",))
    path.write_text(json.dumps([1]))
    with pytest.raises(ValueError, match=r"weights\.json: expected an object; fit it anew$"):
        read_weights(path, ("a",))
    path.write_text('{"a": 2}')
    assert read_weights(path, ("a",)) == {"a": 2}


NAMES = ("a", "b", "c")
NUMBERS = st.floats(-5, 5)
ROWS = st.lists(NUMBERS, min_size=3, max_size=3)
UNITS = st.builds(
    HiddenUnit, NUMBERS, NUMBERS, ROWS.map(lambda row: dict(zip(NAMES, row, strict=True)))
)


@given(st.lists(UNITS, min_size=1, max_size=4), ROWS)
def test_network_score_equals_numpy(units, row):
    weights = np.array([list(unit.weights.values()) for unit in units])
    votes, biases = (np.array([getattr(unit, name) for unit in units]) for name in ("vote", "bias"))
    score = network_score(units, dict(zip(NAMES, row, strict=True)))
    assert np.isclose(score, votes @ np.tanh(weights @ np.array(row) + biases), atol=1e-12)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([], "'units': expected a list"),
        ({}, "'units': expected a list"),
        ([7], r"'units\[0\]': expected an object"),
        ([{"vote": 1, "bias": 0}], r"'units\[0\].weights': is missing"),
        ([{"vote": 1, "bias": 0, "weights": {"a": 1, "b": 2}}], r"\.weights\.c': is missing"),
        ([{"vote": 1, "bias": 0, "weights": dict.fromkeys("abcd", 1)}], r"\.weights\.d': is unk"),
        ([{"vote": "1", "bias": 0, "weights": dict.fromkeys("abc", 1)}], r"\.vote': expected a n"),
    ],
)
def test_bad_units_raise_with_the_field(record, message):
    with pytest.raises(ValueError, match=message):
        read_units(Path("w.json"), record, NAMES)


JUDGES = [CalibratedJudge(), LexicalJudge()]


def steps(judge, claim, sentence):
    texts = [("Ada Quill" if "Ada" in sentence else "Show", sentence)]
    (judgement,) = judge.judge([claim], [texts])
    assert judgement.proof is not None
    judgement.proof.validate(claim, texts)
    return {step.claim: step for step in judgement.proof.steps}


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(
    ("claim", "sentence", "span", "quoted", "operator"),
    [
        # The claim is negated.
        ("Ada Quill is not in Paris.", "Ada Quill is in Paris.",
         "is not in Paris.", "is in Paris", "!"),
        ("Ada Quill never built a tower.", "Ada Quill built a tower.",
         "never built a tower.", "built a tower", "!"),
        ("Ada Quill was not an old Irish engineer.", "Ada Quill was an Irish engineer.",
         "was not an old Irish engineer.", "was an Irish engineer", "!"),
        # The evidence is negated.
        ("Ada Quill is in Paris.", "Ada Quill is not in Paris.", "is in Paris.",
         "not in Paris", "!"),
        ("Ada Quill was an Irish engineer.", "Ada Quill was not an Irish engineer.",
         "was an Irish engineer.", "not an Irish engineer", "!"),
        ("Ada Quill was an old Irish engineer.", "Ada Quill was not an Irish engineer.",
         "was an old Irish engineer.", "not an Irish engineer", "!"),
        ("Ada Quill hosted the show.", "Ada Quill did not host the show.",
         "hosted the show.", "not host the show", "!"),
        ("Ada Quill hosted the show.", "Ada Quill never hosted the show.",
         "hosted the show.", "never hosted the show", "!"),
        ("Ada Quill hosted the show.", "Ada Quill hardly hosted the show.",
         "hosted the show.", "hardly hosted the show", "!"),
        # Both are negated.
        ("Ada Quill is not in Paris.", "Ada Quill is not in Paris.",
         "is not in Paris.", "is not in Paris", "="),
        # Quantifiers.
        ("All actors left the show.", "No actors left the show.", "All actors", "No actors", "|"),
        ("No actors left the show.", "All actors left the show.", "No actors", "All actors", "|"),
        ("All actors left the show.", "Not all of the actors left the show.",
         "All actors", "Not all of the actors", "!"),
        ("Some actors left the show.", "None of the actors left the show.",
         "Some actors", "None of the actors", "!"),
        ("Seven actors left the show.", "More than seven actors left the show.",
         "Seven actors", "More than seven actors", "|"),
    ],
)  # fmt: skip
def test_negations_and_quantifiers_decide_their_step(
    judge, claim, sentence, span, quoted, operator
):
    step = steps(judge, claim, sentence)[span]
    assert (step.evidence, step.operator.value) == (quoted, operator)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("Ada Quill was an engineer.", "Ada Quill, who never married, was an engineer."),
        ("Ada Quill was an engineer.", "Not married, Ada Quill was an engineer."),
        ("Ada Quill was an engineer.", "Ada Quill was not a singer but an engineer."),
        ("Ada Quill was an engineer.", "Ada Quill was not only a singer but also an engineer."),
        ("Ada Quill was a singer.", "Ada Quill was not only a singer but also an engineer."),
        ("Ada Quill lived in Paris.", "Ada Quill did not marry and lived in Paris."),
        ("Ada Quill was an engineer.", "Ada Quill was No. 1, an engineer."),
        ("The actors left the show.", "Most actors left the show."),
    ],
)
def test_negations_of_other_words_do_not_count(judge, claim, sentence):
    assert {step.operator for step in steps(judge, claim, sentence).values()} == {NatOp.EQUIVALENCE}


def test_bare_negation_is_not_covered():
    claim = "The lighthouse at Port Merrow is not."
    texts = [("Port Merrow", "The lighthouse at Port Merrow is old.")]
    (judgement,) = CalibratedJudge().judge([claim], [texts])
    assert judgement.missing == ("is not.",)
