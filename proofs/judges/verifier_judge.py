"""The judge with a verifier, which decides; the proof shows why.

The verifier reads the claim with its evidence once. Its probabilities are those of the verdicts,
and the evidence is sufficient if NOT ENOUGH INFO is improbable enough. The proof is then written
for this decision, so that the two cannot disagree: what a supported claim says is quoted span by
span; of a refuted claim, the span that the evidence most probably denies is set against the words
that deny it; and of an open claim, the spans that the evidence does not cover are independent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from proofs.drafting.chunking import chunk
from proofs.drafting.drafts import DraftStep, draft_steps, merge_unquotable, to_proof
from proofs.drafting.span_alignment import Aligner, Alignment
from proofs.judges.judgement import Evidence, Judgement, form_warning, uncovered, verdict_of
from proofs.lexicons.lexicon import SpanLexicon, default_lexicon
from proofs.lexicons.values import value
from proofs.logic.operators import REFUTING_OPERATORS, NatOp, Verdict
from proofs.logic.proof import MAX_EVIDENCE_WORDS, Proof, ProofStep
from proofs.logic.quotable_spans import QuotableText
from proofs.logic.words import (
    NEGATIONS,
    has_content,
    is_content,
    locate_spans,
    split_words,
    stems,
    word_spans,
)
from proofs.verifier.reading import LABELS, NEUTRAL, NOTHING_KNOWN, Comparison, Reading, Verifier

_CONTRADICTION = LABELS.index("contradiction")
# What joins a quotation to the words before it.
_JOINING = re.compile(r"^(?:and|but|or|while)\s", re.IGNORECASE)
# The column of each verdict in a reading.
_COLUMNS = {
    Verdict.SUPPORTS: LABELS.index("entailment"),
    Verdict.REFUTES: _CONTRADICTION,
    Verdict.NOT_ENOUGH_INFO: NEUTRAL,
}


class VerifierJudge:
    """Judges by a verifier, and writes the proof for its decision.

    Parameters
    ----------
    lexicon
        Relates words and spans; the built-in lexicon by default.
    stop_at
        Evidence is sufficient if it decides the claim, either way, at least this probably.
    """

    def __init__(
        self,
        verifier: Verifier,
        lexicon: SpanLexicon | None = None,
        *,
        stop_at: float = 0.5,
    ) -> None:
        self._verifier, self._lexicon = verifier, lexicon or default_lexicon()
        self._stop_at = stop_at

    def judge(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Judgement]:
        """Return the probabilities of each claim's verdicts, the decision and its proof.

        A text that is no claim (see `form_warning`) has neither verdict nor proof.
        """
        at = [n for n, claim in enumerate(claims) if claim.split() and evidence[n]]
        readings = self._verifier.read([claims[n] for n in at], [evidence[n] for n in at])
        by_number = dict(zip(at, readings, strict=True))
        return [
            self._judgement(claim, evidence[n], by_number[n])
            if n in by_number
            else uncovered(claim)
            for n, claim in enumerate(claims)
        ]

    def _judgement(self, claim: str, evidence: Evidence, reading: Reading) -> Judgement:
        # The verifier guesses where there is nothing to compare.
        labels = reading.labels if shares_a_word(claim, evidence) else NOTHING_KNOWN
        verdicts = {verdict: float(labels[column]) for verdict, column in _COLUMNS.items()}
        probability = 1 - verdicts[Verdict.NOT_ENOUGH_INFO]
        sufficient = probability >= self._stop_at
        if form_warning(claim) is not None:
            return Judgement(sufficient, None, probability)
        verdict = verdict_of(sufficient, None, verdicts)
        assert verdict is not None  # there are probabilities
        proof = self._proof(claim, evidence, reading, verdict)
        return Judgement(sufficient, proof, probability, verdicts, reading.comparisons)

    def _proof(self, claim: str, evidence: Evidence, reading: Reading, verdict: Verdict) -> Proof:
        telling = telling_sentences(evidence, reading)
        steps = draft_steps(claim, telling, self._lexicon)
        labels = _span_labels(claim, steps, reading)
        if verdict is Verdict.NOT_ENOUGH_INFO:
            return to_proof(merge_unquotable(claim, _open(steps, labels)))
        refuted = len(steps)
        if verdict is Verdict.REFUTES:
            refuted = _refuted_span(claim, steps, labels, reading.comparisons)
        # What follows from evidence that refutes a claim is not known, only what says the same.
        written = [_covered(step, exactly=at > refuted) for at, step in enumerate(steps)]
        if refuted < len(steps):
            opposing = self._opposing(steps, refuted, evidence, reading)
            written[refuted] = _against(steps[refuted], opposing)
        merged = merge_unquotable(claim, written)
        if any(step.operator is NatOp.INDEPENDENCE for step in merged):
            return _whole(claim, [*telling, *evidence], verdict)
        return to_proof(merged)

    def _opposing(
        self, steps: Sequence[DraftStep], at: int, evidence: Evidence, reading: Reading
    ) -> Alignment:
        for comparison in reading.comparisons:
            title, text = evidence[comparison.sentence]
            if comparison.stated in text and _is_quotable(comparison.stated):
                return Alignment(comparison.stated, title, 1.0)
        denials = reading.sentences[:, _CONTRADICTION]
        span, before = steps[at].claim, steps[at - 1].claim if at else ""
        best, highest = Alignment("", "", 0.0), 0.0
        for (title, text), denial in zip(evidence, denials / (denials.max() or 1.0), strict=True):
            pieces = [_JOINING.sub("", text[b:e]).strip(" ,.;:") for b, e in chunk(text)]
            for piece, previous in zip(pieces, ["", *pieces], strict=False):
                score = self._opposition(span, piece, before, previous)
                if score and score + denial > highest and _is_quotable(piece):
                    best, highest = Alignment(piece, title, 1.0), score + denial
        if best.span:
            return best
        closest = evidence[int(np.argmax(denials))]
        aligned = Aligner([closest], self._lexicon).align(span) or steps[at].alignment
        return aligned or Alignment("", closest[0], 0.0)

    def _opposition(self, span: str, piece: str, before: str, previous: str) -> float:
        """Return how well a piece of the evidence stands where a span of the claim does."""
        claimed, stated = _content_stems(span), _content_stems(piece)
        if not stated or (claimed <= stated and _is_negated(span) == _is_negated(piece)):
            return 0.0  # it says the same
        first, other = (text.split()[0].lower() for text in (span, piece))
        follows_the_same = bool(_content_stems(before) & _content_stems(previous))
        return (
            2.5 * (self._lexicon.relation(span, piece) in REFUTING_OPERATORS)
            + (1.0 + 2.0 * follows_the_same) * (_kind(span) == _kind(piece))
            + 0.5 * (first == other)
            + len(claimed & stated) / max(len(claimed), 1)
        )


def telling_sentences(evidence: Evidence, reading: Reading) -> Evidence:
    """Return the sentences that, by themselves, say something of the claim; all if none does."""
    telling = [n for n, row in enumerate(reading.sentences) if row[NEUTRAL] < 0.5]
    return [evidence[n] for n in telling] or evidence


def shares_a_word(claim: str, evidence: Evidence) -> bool:
    """Return whether a claim and its evidence have a content word in common."""
    words = _content_stems(claim)
    return any(words & _content_stems(f"{title} {text}") for title, text in evidence)


def _span_labels(claim: str, steps: Sequence[DraftStep], reading: Reading) -> np.ndarray:
    """Return how probably the evidence says each span, leaves it open and denies it, (spans, 3).

    Each is that of the word of the span of which it is most probable: one word decides a span.
    Verifiers that say nothing of words leave it to the words that are found in the evidence.
    """
    if not len(reading.tokens):
        return np.array(
            [
                (one.similarity, 1 - one.similarity, 1 - one.similarity / 2)
                if one.operator not in REFUTING_OPERATORS
                else (0.0, 0.0, 1.0)
                for one in steps
            ]
        )
    rows = []
    for begin, end in locate_spans(claim, (step.claim for step in steps)):
        inside = [n for n, (b, e) in enumerate(reading.offsets) if b < end and e > begin]
        rows.append(reading.tokens[inside].max(0) if inside else NOTHING_KNOWN)
    return np.array(rows)


def _open(steps: Sequence[DraftStep], labels: np.ndarray) -> list[DraftStep]:
    """Return the steps of an open claim; the span that is least covered is independent."""
    limit = min(0.5, labels[:, NEUTRAL].max())
    return [
        replace(step, operator=NatOp.INDEPENDENCE, unquoted=True)
        if row[NEUTRAL] >= limit or step.alignment is None
        else _covered(step)
        for step, row in zip(steps, labels, strict=True)
    ]


def _refuted_span(
    claim: str, steps: Sequence[DraftStep], labels: np.ndarray, comparisons: Sequence[Comparison]
) -> int:
    for comparison in comparisons:
        place = claim.find(comparison.claimed)
        if place >= 0:
            end = place + len(comparison.claimed)
            spans = locate_spans(claim, (step.claim for step in steps))
            return max(n for n, (begin, _) in enumerate(spans) if begin < end)
    return int(np.argmax(labels[:, _CONTRADICTION]))


def _covered(step: DraftStep, *, exactly: bool = False) -> DraftStep:
    """Return a step that the evidence covers, whatever words alone say."""
    follows = step.operator is NatOp.FORWARD and not exactly
    operator = NatOp.FORWARD if follows else NatOp.EQUIVALENCE
    if step.alignment is None:
        operator = NatOp.INDEPENDENCE
    return replace(step, operator=operator)


def _against(step: DraftStep, opposing: Alignment) -> DraftStep:
    negated = _is_negated(step.claim) != _is_negated(opposing.span)
    operator = NatOp.NEGATION if negated else NatOp.ALTERNATION
    return replace(step, alignment=replace(opposing, similarity=1.0), operator=operator)


def _whole(claim: str, evidence: Evidence, verdict: Verdict) -> Proof:
    operator = NatOp.EQUIVALENCE if verdict is Verdict.SUPPORTS else NatOp.ALTERNATION
    return Proof((ProofStep(claim.strip(), _first_quotation(evidence), operator),))


def _first_quotation(evidence: Evidence) -> str:
    parts = [part for one in evidence for part in reversed(one)]
    for text in (QuotableText.from_text(part, "") for part in parts):
        for first in range(len(text.words)):
            for last in reversed(list(text.span_ends(first))):
                return text.quote(first, last)
    return next(part.strip() for part in parts if part.strip())


def _kind(span: str) -> tuple[bool, bool]:
    words = [word for word in split_words(span) if word.is_content]
    names = any(span[word.start].isupper() for word in words)
    return any(value(word.norm) is not None for word in words), names


def _is_quotable(text: str) -> bool:
    return has_content(text) and len(word_spans(text)) <= MAX_EVIDENCE_WORDS


def _is_negated(text: str) -> bool:
    return any(word.norm in NEGATIONS for word in split_words(text))


def _content_stems(text: str) -> set[str]:
    return {
        stem for word in split_words(text) if is_content(word.norm) for stem in stems(word.norm)
    }
