"""Pairs whose evidence stands among retrieved sentences."""

from __future__ import annotations

from admiral.records import Document
from training.data.evidence_corpora import PassageCorpus
from training.data.surrounded_pairs import surrounded_pairs
from training.data.verification_pairs import Pair

CORPUS = PassageCorpus(
    [
        Document("Rome", ("Rome is old.", "Rome has seven hills and trams.")),
        Document("Trams", ("Trams are on hills.",)),
    ]
)
CLAIM = "Rome has hills and trams."
EVIDENCE = "The city lies on seven hills."
PAIR = Pair(CLAIM, EVIDENCE, "entailment", "fever", 2.0, True)


def test_the_evidence_stands_among_the_closest_sentences() -> None:
    pairs = [pair for seed in range(20) for pair in surrounded_pairs([PAIR], "fever", CORPUS, seed)]
    assert {(p.claim, p.label, p.weight, p.relevance) for p in pairs} == {
        (CLAIM, "entailment", 2.0, True)
    }
    assert all(EVIDENCE in pair.evidence and pair.evidence != EVIDENCE for pair in pairs)
    assert any(pair.evidence.startswith(EVIDENCE) for pair in pairs)
    assert any(pair.evidence.endswith(EVIDENCE) for pair in pairs)
    added = "".join(pair.evidence for pair in pairs)
    assert "Trams are on hills." in added
    assert "Rome is old." not in added


def test_neutral_pairs_and_other_sources_are_left_out() -> None:
    neutral = Pair(CLAIM, EVIDENCE, "neutral", "fever")
    other = Pair(CLAIM, EVIDENCE, "entailment", "snli")
    assert not list(surrounded_pairs([neutral, other], "fever", CORPUS, 0))


def test_a_pair_whose_evidence_has_all_that_is_found_is_not_repeated() -> None:
    whole = Pair(
        CLAIM, "Rome has seven hills and trams. Trams are on hills.", "entailment", "fever"
    )
    assert not list(surrounded_pairs([whole], "fever", CORPUS, 0))
