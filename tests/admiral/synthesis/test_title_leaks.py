"""Words that give away a hidden title."""

from __future__ import annotations

import pytest

from admiral.synthesis.true_claims import leaked_words


@pytest.mark.parametrize(
    ("claim", "hidden", "named", "found"),
    [
        ("Meyers was the host.", "Seth Meyers", [], ["meyers"]),
        ("The Meyerses met Seth's friend.", "Seth Meyers", [], ["seth"]),
        ("The 66th Awards were hosted.", "65th Awards", ["66th Awards"], []),
        ("It was shown by NBC.", "National Broadcasting Company", [], ["nbc"]),
        ("He was born in São Paulo.", "Sao Paulo", [], ["sao", "paulo"]),
        ("A film of 1984.", "Dune (1984 film)", [], []),
        ("Bergens Tidende of Bergen.", "Bergen", ["Bergens Tidende"], ["bergen"]),
        ("The king of the hill.", "The Lord of the Ring", [], []),
        ("Watch youtube.", "You Tube", [], ["youtube"]),
    ],
)
def test_leaked_words_of_a_hidden_title(claim, hidden, named, found):
    assert leaked_words(claim, hidden, named) == found
