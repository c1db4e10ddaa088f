"""Which documents have the words of a claim, beside counting over all pairs."""

from hypothesis import given
from hypothesis import strategies as st

from proofs.judges.coverage import Coverage
from proofs.logic.words import pieces

WORDS = st.sampled_from(["ada", "quill", "cork", "rain", "the"])


@given(
    st.lists(WORDS).map(" ".join), st.lists(st.lists(WORDS), max_size=4), st.sets(st.integers(0, 3))
)
def test_words_are_where_they_stand(claim: str, documents: list[list[str]], some: set[int]) -> None:
    found = Coverage.of(claim, documents)
    words = [word.norm for word in pieces(claim) if word.content]
    having = [[at for at, one in enumerate(documents) if word in one] for word in words]
    assert found.missing(some) == sum(not set(one) & some for one in having)
    assert found.alone() == {
        at: count for at in range(len(documents)) if (count := having.count([at]))
    }
    shares = [sum(at in one for one in having) for at in range(len(documents))]
    assert found.largest_share == (max(shares, default=0) / len(words) if words else 0)
