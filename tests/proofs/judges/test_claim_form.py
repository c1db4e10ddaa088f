"""Texts that state nothing have no verdict by any judge; claims and headlines keep theirs."""

import json
from pathlib import Path

import pytest

from proofs import LexicalJudge
from proofs.judges.claim_form import form_warning
from proofs.judges.verifier_judge import VerifierJudge
from tests.proofs.verifier.fixed_verifier import FixedVerifier

ROOT = Path(__file__).parents[3]
JUDGES = (VerifierJudge(FixedVerifier((0.9, 0.05, 0.05))), LexicalJudge())
# What is said of texts, which " / " separates.
NO_CLAIMS = {
    "question": 'Was Ada born in Torvik? / Emmy Awards? / Who wrote "Emma?"',
    "opinion": "I think that Ada is the best painter. / In my opinion, Oslo is too cold.",
    "name": "Seth Meyers / The Lord of the Rings / Capital of France",
    "greeting": "Good morning, everyone! / Hi guys / Thanks a lot",
    "request": "Write me a poem about Paris / Tell me whether Paris is in France. / Please help",
    "script": "مرحبا بكم / Рим стоит на Тибре. / 你好",
    "no sentence": "dog dog Dog dog. / asdf asdf qwer / sdfg jklh / ... / " + "dog cat " * 1500,
    "not in English": """Paris est la capitale de la France et se trouve sur la Seine. / Die Stadt
        ist am Fluss und wurde 1203 gegründet. / El puente fue construido en 1931 por una empresa.
        / Roma è la capitale che si trova nel Lazio. / A ponte não foi construída em 1931.
        / Amsterdam is een stad en wordt niet groter.""",
    "part of a sentence": """The tallest building in Europe / born in 1967 / More than 40 people
        / The dredging of Port Edwyn harbour / the author of The Bell Jar. / in the north of Spain
        / The city where she was born / The man who built the bridge / capital of France
        / A list of countries by population / an American actor and singer""",
}
CLAIMS = """Dogs bark. / Rome Burns. / Seth Meyers was born in Illinois / Who's Who is a book.
    / The film Why? was released in 2001. / Ada thinks that Oslo is cold. / 1984 is a novel
    / dogs bark / Hello is a song of 2015. / Hello originated in Spain / Thanks to rain, crops grew.
    / I Believe was written by Frankie Laine. / Show Me a Hero is a miniseries / Paris is big.
    / Los Angeles lies beside La La Land / Vincent van der Meer is a painter.
    / Le Jardin des Plantes lies in Paris. / Her novel Die Stadt und das Meer was filmed.
    / The river Москва flows through Moscow. / Dredging of harbour begins / Man bites dog
    / Ann Smith, 40, wins race / Ann Smith Wins Race / At least 40 die in Leeds
    / Three dead in Leeds crash / The band play rock / The British drive on the left.
    / A majority of voters support him / The man won that race / The dog that won barks
    / No issue from 1905 survives. / The Group of 15 excludes Kenya.
    / In Japan people drive on the left / """


def texts_of(table):
    """Return the texts of a table."""
    return [" ".join(text.split()) for text in table.split(" / ")]


@pytest.mark.parametrize("reason", NO_CLAIMS)
def test_what_states_nothing_is_named_and_has_no_verdict(reason):
    for text in texts_of(NO_CLAIMS[reason]):
        assert reason in (form_warning(text) or ""), text
        evidence = [("Ada", f"Ada wrote of this: {text}")]
        for judge in JUDGES:
            for judgement in judge.judge([text] * 2, [evidence, []]):
                assert judgement.verdict is judgement.proof is judgement.verdicts is None, text


def test_a_search_for_a_question_may_stop():
    (judgement,) = JUDGES[0].judge(["Was Ada born in Oslo?"], [[("", "Ada was born in Oslo.")]])
    assert (judgement.sufficient, judgement.verdict) == (True, None)


def test_claims_and_headlines_keep_their_verdict():
    texts = texts_of(CLAIMS)
    for file in ("admiral/data/demo/claims.jsonl", "benchmarks/own_pairs.jsonl"):
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        texts += [json.loads(line)["claim"] for line in lines]
    assert [text for text in texts if form_warning(text)] == []
