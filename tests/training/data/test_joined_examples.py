"""Claims of two parts: their labels follow from the parts and their evidence."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from training.data.evidence_examples import joined_examples
from training.data.examples import Example


def parts(count: int) -> list[Example]:
    return [
        Example(f"Claim {n} {label}.", (("", f"Sentence {n} {label}."),), label, "s")
        for n in range(count)
        for label in ("entailment", "neutral", "contradiction")
    ]


@given(st.integers(0, 10_000))
def test_labels_follow_from_the_parts(seed: int) -> None:
    for one in joined_examples([*parts(12), *(Example("x", (), "entailment", "o"),)], "s", seed):
        assert one.source == "s-joined"
        labels = []
        for begin, end, label in one.spans:
            text = one.claim[begin:end]
            own = text.split()[-1]
            has_evidence = any(
                text.split()[1] == t.split()[1] and own in t for _, t in one.evidence
            )
            assert label == (own if has_evidence else "neutral")
            labels.append(label)
        assert one.claim.endswith(".")
        expected = "contradiction" if "contradiction" in labels else "neutral"
        assert one.label == ("entailment" if set(labels) == {"entailment"} else expected)


def test_no_label_prevails_and_the_same_seed_gives_the_same() -> None:
    examples = parts(2000)
    found = list(joined_examples(examples, "s", 3))
    counts = Counter(one.label for one in found)
    assert max(counts.values()) < 0.5 * len(found)
    assert min(counts.values()) > 0.2 * len(found)
    assert found == list(joined_examples(examples, "s", 3))
    assert found != list(joined_examples(examples, "s", 4))
    assert list(joined_examples(examples, "other", 3)) == []
