import pytest

from admiral import RetrievalConfig
from admiral.records import Claim

TEXTS = (
    "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973.",
    "A telescope that orbits the Earth was named after an astronomer.",
    "The river that flows through the capital of France ends in the sea.",
    "Nobody ever described qwertyuiop \u2028 \x85.",
)


@pytest.fixture
def claims():
    """Return claims of which the one with the id "bad" fails, since it is blank."""
    good = [Claim(f"é{n}", TEXTS[n % 4] + " And" * (n // 4)) for n in range(12)]
    return [*good[:5], Claim("bad", " "), *good[5:]]


@pytest.fixture
def config():
    return RetrievalConfig(
        beam_size=4, title_beams=2, rerank_documents=6, top_k=20, batch_size=2, hops="1"
    )
