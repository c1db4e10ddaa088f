"""The server-sent event of a hop: its record with sentences, citations and questions."""

from __future__ import annotations

from typing import Any

from admiral.records import Hop, hop_json, probabilities_json, sentence_json
from proofs import Proof
from proofs.logic.wording import cited_steps, contrasting_words


def hop_event(hop: Hop) -> dict[str, Any]:
    """Return a hop as a JSON object.

    It has the fields of the record of the result, and ``evidence`` with sentences and scores;
    ``citations``, which has for each step of the proof the ``title`` of the document that it quotes
    and the words that contradict each other as ``contrast``, or null; ``questions``, the parts of
    the claim that the evidence does not cover (``span``) with a ``question`` or null; with a
    verifier, the probabilities of ``verdicts``.
    """
    evidence = [sentence_json(sentence) for sentence in hop.evidence]
    questions = [] if hop.proof is None else hop.proof.questions()
    return {
        **hop_json(hop),
        "evidence": evidence,
        "citations": [] if hop.proof is None else _citations(hop.proof, hop),
        "questions": [{"span": span, "question": question} for span, question in questions],
        **({} if hop.verdicts is None else {"verdicts": probabilities_json(hop.verdicts)}),
    }


def _citations(proof: Proof, hop: Hop) -> list[dict[str, Any]]:
    triples = [(step.claim, step.evidence, step.operator) for step in proof.steps]
    pairs = [(sentence.title, sentence.text) for sentence in hop.evidence]
    return [
        {"title": title, "contrast": contrasting_words(*step)}
        for step, title in cited_steps(triples, pairs)
    ]
