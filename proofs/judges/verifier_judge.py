"""The judge with a verifier, whose probabilities decide; the proof shows why.

The verifier reads the claim with its evidence once, `Judgement.decided` makes one decision of its
three probabilities, and `write_proof` writes the proof of that decision from what the evidence says
of each span of the claim. Its automaton gives the decision that it is written for:

- Supported: what a span says is said by its quotation in the same words (``=``), or follows from it
  (``<``).
- Refuted: one span stands against the words of the evidence that take its place. Spans of which the
  evidence says nothing are part of what is refuted, since a claim is false if one part of it is.
- Open: the spans that the evidence does not cover are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from proofs.judges.judgement import (
    Conflict,
    Evidence,
    Judgement,
    SentenceName,
    decide,
    form_warning,
    probabilities,
    uncovered,
)
from proofs.judges.opposition import compared, find_opposition
from proofs.judges.reader_proof import reader_proof
from proofs.judges.span_sources import (
    RELATED,
    SAME,
    Kind,
    Quote,
    SpanSources,
    content_stems,
    first_word,
    is_negated,
    overlaps,
    phrases,
    shared_words,
    spanning,
    values,
    years,
)
from proofs.lexicons import SpanLexicon, default_lexicon
from proofs.logic import REFUTING_OPERATORS, NatOp, Verdict
from proofs.logic.proof import Proof, ProofStep, QuotableText
from proofs.logic.words import Quotation, split_words, word_list
from proofs.verifier import LABELS, NEUTRAL, NOTHING_KNOWN, Reading, Verifier
from proofs.verifier.exact_comparison import compare

_ENTAILMENT, _CONTRADICTION = LABELS.index("entailment"), LABELS.index("contradiction")
# Sentences contradict each other if one alone supports, and one alone refutes, so probably.
_CONFLICT = 0.8
# Share of the claim's content words that a sentence must have to decide alone. Otherwise one that
# says a part of the claim, or denies it of something else, would.
_MOST = 0.6


class VerifierJudge:
    """Judges by a verifier, and writes the proof for its decision.

    `lexicon`: relates words and spans; the built-in lexicon by default. `stop_at`: evidence is
    sufficient if it decides the claim, either way, at least this probably (see
    `proofs.judges.judgement.decide`).
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
        verdicts = probabilities(labels)
        if form_warning(claim) is not None:
            judged = Judgement.decided(verdicts, self._stop_at)
            return Judgement(judged.sufficient, None, judged.probability)
        verdict = decide(verdicts, self._stop_at)
        if reading.spans:
            proof = reader_proof(claim, evidence, reading, verdict)
        else:
            proof = write_proof(claim, evidence, reading, verdict, self._lexicon)
        conflict = conflict_of(claim, evidence, reading)
        alone = decided_alone(claim, evidence, reading, verdict)
        return Judgement.decided(
            verdicts, self._stop_at, proof, reading.comparisons, conflict, alone
        )


def decided_alone(
    claim: str, evidence: Evidence, reading: Reading, verdict: Verdict
) -> float | None:
    """Return how probable a verdict is by one sentence alone that speaks of most of the claim.

    None if there is no such sentence, or nothing is decided.
    """
    if verdict is Verdict.NOT_ENOUGH_INFO:
        return None
    column = _ENTAILMENT if verdict is Verdict.SUPPORTS else _CONTRADICTION
    if reading.comparisons:
        return float(reading.labels[column])
    alone = [
        float(row[column])
        for row, pair in zip(reading.sentences, evidence, strict=True)
        if shared_words(claim, pair) >= _MOST
    ]
    return max(alone, default=None)


def conflict_of(claim: str, evidence: Evidence, reading: Reading) -> Conflict | None:
    """Return two sentences of which one alone supports a claim and the other refutes it."""
    labels = [compare(claim, [pair]) for pair in evidence]
    said = [None if one is None else one.label for one in labels]
    if "entailment" in said and "contradiction" in said:
        pair = said.index("entailment"), said.index("contradiction")
    else:
        supports, refutes = (
            reading.sentences[:, _ENTAILMENT],
            reading.sentences[:, _CONTRADICTION],
        )
        pair = int(np.argmax(supports)), int(np.argmax(refutes))
        if min(supports[pair[0]], refutes[pair[1]]) < _CONFLICT:
            return None
    return Conflict(*(SentenceName(evidence[number][0], number) for number in pair))


def shares_a_word(claim: str, evidence: Evidence) -> bool:
    """Return whether a claim and its evidence have a content word in common."""
    return any(shared_words(claim, pair) > 0 for pair in evidence)


# Prepositions that tell what a phrase is about.
_TELLING_PREPOSITIONS = word_list(
    "about above after against along among around before behind below beneath beside between "
    "beyond despite during into near over since through under until within without"
)
# Words from which a span may follow although they are not like it score at least so much.
_PLAUSIBLE = 0.7


def write_proof(
    claim: str,
    evidence: Sequence[tuple[str, str]],
    reading: Reading,
    verdict: Verdict,
    lexicon: SpanLexicon,
) -> Proof:
    """Return the proof of a verdict on a claim that has words, from evidence of some sentences."""
    draft = _Draft(claim, evidence, reading, lexicon)
    if verdict is Verdict.NOT_ENOUGH_INFO:
        return draft.open_proof()
    parts = draft.supporting() if verdict is Verdict.SUPPORTS else draft.refuting()
    if any(part.quote is None for part in parts) or not parts:
        return _whole(claim, evidence, reading, verdict)
    return draft.proof(parts)


@dataclass(frozen=True, slots=True)
class _Part:
    """Successive spans of a claim that become one step of its proof."""

    first: int
    last: int
    quote: Quote | None
    operator: NatOp


class _Draft:
    def __init__(
        self,
        claim: str,
        evidence: Sequence[tuple[str, str]],
        reading: Reading,
        lexicon: SpanLexicon,
    ) -> None:
        self._claim, self._evidence = claim, evidence
        self._reading, self._lexicon = reading, lexicon
        self._sources = SpanSources(claim, evidence, reading, lexicon)
        self._parts = [self._part(span) for span in range(len(self._sources.spans))]
        self._labels = self._span_labels()
        self._phrases = [phrases(text, n, title) for n, (title, text) in enumerate(evidence)]

    def _part(self, span: int) -> _Part:
        """Return a span with its quotation and how the two relate by words alone."""
        quote, text = self._sources.quote(span), self._sources.texts[span]
        operator = NatOp.INDEPENDENCE
        if quote is not None and quote.similarity >= RELATED:
            relation = self._lexicon.relation(text, quote.text)
            denied = self._lexicon.is_contradicted(text, quote.text)
            if relation not in REFUTING_OPERATORS and not denied:
                same = quote.similarity >= SAME and relation in (None, NatOp.EQUIVALENCE)
                operator = NatOp.EQUIVALENCE if same else NatOp.FORWARD
        return _Part(span, span, quote, operator)

    def _span_labels(self) -> np.ndarray:
        """Return how probably the evidence says each span, leaves it open and denies it, (n, 3).

        Each is that of the word of the span of which it is most probable: one word decides a span.
        Verifiers that say nothing of words leave it to the words that are found in the evidence.
        """
        reading, rows = self._reading, []
        for (begin, end), part in zip(self._sources.spans, self._parts, strict=True):
            inside = [n for n, (b, e) in enumerate(reading.offsets) if b < end and e > begin]
            if inside:
                rows.append(reading.tokens[inside].max(0))
            elif len(reading.tokens):
                rows.append(NOTHING_KNOWN)
            else:
                found = part.quote.similarity if part.quote is not None else 0.0
                rows.append(np.array([found, 1 - found, 1 - found / 2]))
        return np.array(rows)

    def proof(self, parts: Sequence[_Part]) -> Proof:
        """Return the proof whose steps are these parts."""
        return Proof(tuple(map(self._step, parts)))

    def _step(self, part: _Part) -> ProofStep:
        text = self._text(part)
        if part.quote is None or part.operator is NatOp.INDEPENDENCE:
            return ProofStep(text, "", NatOp.INDEPENDENCE)
        return ProofStep(text, part.quote.text, part.operator).quoted_at(part.quote.place)

    def _text(self, part: _Part) -> str:
        spans = self._sources.spans
        return self._claim[spans[part.first][0] : spans[part.last][1]]

    def open_proof(self) -> Proof:
        """Return the proof of an open claim: at least the span that is covered least is missing."""
        parts, doubts = [], []
        for part, neutral in zip(self._parts, self._labels[:, NEUTRAL], strict=True):
            found = part.quote.similarity if part.quote is not None else 0.0
            named = self._sources.names_document(part.first)
            doubts.append(neutral - 0.5 * found - 2.0 * named)
            if neutral >= 0.5 and not (named or found >= SAME):
                part = replace(part, operator=NatOp.INDEPENDENCE)
            parts.append(part)
        if all(part.operator is not NatOp.INDEPENDENCE for part in parts):
            least = int(np.argmax(doubts))
            parts[least] = replace(parts[least], operator=NatOp.INDEPENDENCE)
        return self.proof(self._finished(self._runs(parts, self._is_weak)))

    def _runs(self, parts: Iterable[_Part], may_be_joined: Callable[[_Part], bool]) -> list[_Part]:
        """Join successive uncovered parts if the first of them may be joined to the next."""
        runs: list[_Part] = []
        for part in parts:
            is_open = (
                part.operator is NatOp.INDEPENDENCE
                and bool(runs)
                and not self._ends_sentence(runs[-1])
            )
            if is_open and runs[-1].operator is NatOp.INDEPENDENCE and may_be_joined(runs[-1]):
                runs[-1] = replace(runs[-1], last=part.last)
            else:
                runs.append(part)
        return runs

    def _ends_sentence(self, part: _Part) -> bool:
        """Return whether a sentence of the claim ends with a part, and another follows."""
        following = self._claim[self._sources.spans[part.last][1] :].lstrip("\"'”’)]» ")
        return self._text(part).rstrip("\"'”’)]»").endswith((".", "!", "?")) and bool(
            following[:1].isupper()
        )

    def _is_weak(self, part: _Part) -> bool:
        """Return whether a part says too little to stand alone, such as a verb."""
        words = [word for word in split_words(self._text(part)) if word.is_content]
        return len(words) < 2 and Kind.of(self._text(part)).is_plain

    def supporting(self) -> list[_Part]:
        """Return the steps of a supported claim; some lack a quotation if none could be found."""
        parts = list(self._parts)
        for comparison in self._reading.comparisons:
            span, quote = compared(self._sources, comparison)
            if span is not None and quote is not None and not self._says_more(parts[span]):
                parts[span] = replace(parts[span], quote=quote, operator=NatOp.FORWARD)
        taken = [part.quote.place for part in parts if part.quote is not None and _is_quoted(part)]
        for at, part in enumerate(parts):
            alike = self._by_preposition(part, taken) if not _is_quoted(part) else None
            if alike is not None:
                parts[at] = replace(part, quote=alike, operator=NatOp.FORWARD)
                taken.append(alike.place)
        # Spans that are said in other words follow together from the same words.
        runs = self._runs(parts, lambda _: True)
        for at, part in enumerate(runs):
            if part.operator is NatOp.INDEPENDENCE:
                following = None if self._is_weak(part) else self._following(runs, at, taken)
                runs[at] = replace(part, quote=following, operator=NatOp.FORWARD)
                taken += [following.place] if following is not None else []
        return self._finished(self._merged(runs))

    def _says_more(self, part: _Part) -> bool:
        """Return whether a part is quoted with more than the name of a document."""
        if part.quote is None or not _is_quoted(part):
            return False
        names = set[str]().union(*(content_stems(title) for title, _ in self._evidence))
        return not content_stems(part.quote.text) <= names

    def _by_preposition(self, part: _Part, taken: Sequence[Quotation]) -> Quote | None:
        """Return a phrase of the same document and kind with the same preposition, as "before"."""
        number, text = self._sources.path[part.first], self._text(part)
        if first_word(text) not in _TELLING_PREPOSITIONS:
            return None
        found = [
            phrase
            for phrase in self._phrases[number]
            if first_word(phrase.text) == first_word(text)
            and Kind.of(phrase.text) == Kind.of(text)
            and not overlaps(phrase.place, taken)
        ]
        return found[0] if len(found) == 1 else None

    def _following(
        self, runs: Sequence[_Part], at: int, taken: Sequence[Quotation]
    ) -> Quote | None:
        """Return words from which spans may follow: not quoted yet, and where one expects them."""
        number = self._sources.path[runs[at].first]
        title, text = self._evidence[number][0], self._text(runs[at])
        beside = (runs[other] for other in (at - 1, at + 1) if 0 <= other < len(runs))
        places = [
            part.quote.place for part in beside if part.quote is not None and _is_quoted(part)
        ]
        kind, best, highest = Kind.of(text), None, _PLAUSIBLE
        own_years = years(text)
        for other, (own, sentence) in enumerate(self._evidence):
            own_phrases = self._phrases[other] if own == title else []
            for first in range(len(own_phrases)):
                for last in range(first, len(own_phrases)):
                    window = spanning(sentence, own_phrases[first : last + 1])
                    if window is None or overlaps(window.place, taken):
                        break
                    stems = content_stems(window.text)
                    if stems <= content_stems(title) or len(stems) < 2:
                        continue
                    own_kind = Kind.of(window.text)
                    has_value = (kind.date and own_kind.date) or (kind.number and own_kind.number)
                    if not (has_value or stems & content_stems(text)):
                        continue  # words on something else
                    if own_years and years(window.text) not in (set(), own_years):
                        continue
                    place = window.place
                    follows = any(_adjoin(sentence, one, place) for one in places)
                    precedes = any(_adjoin(sentence, place, one) for one in places)
                    begins = first == 0 and (at == 0 or any(one.in_title for one in places))
                    score = (
                        0.4 * (not kind.is_plain and kind == own_kind)
                        + 0.5 * (follows or begins)
                        + 0.3 * precedes
                        + 0.2 * (first_word(text) == first_word(window.text))
                        + 0.3 * self._reading.sentences[other][_ENTAILMENT]
                        + 0.02 * len(window.text.split())
                        + 0.1 * (other == number)
                    )
                    if score > highest:
                        best, highest = window, score
        return best

    def _merged(self, runs: Sequence[_Part]) -> list[_Part]:
        """Join what has no quotation with a neighbour that has one and is not a name alone."""
        parts = list(runs)
        at = 0
        while at < len(parts):
            if parts[at].quote is not None or len(parts) == 1:
                at += 1
                continue
            beside = [
                *([at + 1] if at + 1 < len(parts) and not self._ends_sentence(parts[at]) else ()),
                *([at - 1] if at and not self._ends_sentence(parts[at - 1]) else ()),
            ] or [at + 1 if at + 1 < len(parts) else at - 1]
            bare = [self._sources.is_bare_name(parts[other].last) for other in beside]
            other = beside[bare.index(False) if False in bare else 0]
            first, last = min(at, other), max(at, other)
            joined = replace(parts[other], first=parts[first].first, last=parts[last].last)
            parts[first : last + 1] = [replace(joined, operator=NatOp.FORWARD)]
            at = first
        return parts

    def _finished(self, parts: Sequence[_Part]) -> list[_Part]:
        """Widen quotations to bridges and, of what only follows, to their whole phrases."""
        finished = list(parts)
        for at, part in enumerate(finished):
            if part.operator not in (NatOp.EQUIVALENCE, NatOp.FORWARD) or part.quote is None:
                continue
            others = [
                one.quote.place
                for one in finished
                if one is not part and one.quote is not None and _is_quoted(one)
            ]
            bridge = self._bridge(part, finished[at + 1 :])
            contradicted = any(one.operator in REFUTING_OPERATORS for one in finished[:at])
            if bridge is not None and bridge.text != part.quote.text and not contradicted:
                finished[at] = replace(part, quote=bridge, operator=NatOp.FORWARD)
            elif part.operator is NatOp.FORWARD:
                finished[at] = replace(part, quote=self._widened(part.quote, others))
        return finished

    def _bridge(self, part: _Part, later: Sequence[_Part]) -> Quote | None:
        """Return a quotation with the name of the document that a later step quotes.

        The next step has to quote it, unless this one quotes no more than a name.
        """
        quote = part.quote
        if quote is None or self._sources.is_bare_name(part.last):
            return None
        says_nothing = content_stems(quote.text) <= content_stems(quote.place.title)
        places = [one.quote.place for one in later if one.quote is not None]
        own, nearer = quote.place, set[int]()
        for place in places if says_nothing else places[:1]:
            target, spans = place.title, range(part.first, len(self._sources.spans))
            numbers = [
                number
                for number, (title, _) in enumerate(self._evidence)
                if title == own.title
                and target in self._sources.mentions[number]
                and number not in nearer  # where a step between leads on itself
            ]
            nearer.add(place.sentence_id)
            if not numbers or any(self._sources.names(target, span) for span in spans):
                continue
            number = own.sentence_id if own.sentence_id in numbers else numbers[0]
            if number == own.sentence_id or says_nothing:
                name = self._sources.mentions[number][target]
                bridge = self._with_name(quote, number, name)
                if bridge is None and part.operator is NatOp.FORWARD:
                    pointer = Quotation(own.title, number, *name)
                    text = self._evidence[number][1][slice(*name)]
                    bridge = self._widened(Quote(text, pointer, 1.0), [])
                    said = content_stems(quote.text) - content_stems(own.title)
                    if said and said.isdisjoint(content_stems(bridge.text)):
                        return None
                return bridge
        return None

    def _with_name(self, quote: Quote, number: int, name: tuple[int, int]) -> Quote | None:
        """Return the words of a quotation up to a name of the same sentence, if not too many."""
        text = self._evidence[number][1]
        if quote.place.in_title or quote.place.sentence_id != number:
            return None
        place = replace(quote.place, start=name[0], end=name[1])
        return spanning(text, [quote, Quote(text[slice(*name)], place, 1.0)])

    def _widened(self, quote: Quote, taken: Sequence[Quotation]) -> Quote:
        """Return a quotation with its whole phrase and one beside it, if that is not too long."""
        number = quote.place.sentence_id
        if quote.place.in_title:
            return quote
        text, own = self._evidence[number][1], self._phrases[number]
        touched = [at for at, phrase in enumerate(own) if overlaps(quote.place, [phrase.place])]
        if not touched:
            return quote
        first, last = touched[0], touched[-1] + 1
        for begin, end in ((first - 1, last), (first, last + 1), (first, last)):
            added = [phrase for phrase in own[max(begin, 0) : end] if phrase not in own[first:last]]
            # A name or date would bring in what the span does not speak of.
            if begin < 0 or any(not Kind.of(phrase.text).is_plain for phrase in added):
                continue
            wider = spanning(text, [quote, *own[begin:end]])
            if wider is None or overlaps(wider.place, taken) or not _is_balanced(wider.text):
                continue
            if values(wider.text) <= values(quote.text):
                return wider
        return quote

    def refuting(self) -> list[_Part]:
        """Return the steps of a refuted claim."""
        operators = [part.operator for part in self._parts]
        refuted, opposing = find_opposition(self._sources, operators, self._labels, self._reading)
        first = last = refuted
        for span, operator in enumerate(operators):
            # After a contradiction, entailment proves nothing; only what says the same keeps it.
            kept = operator is NatOp.EQUIVALENCE or (operator is NatOp.FORWARD and span < refuted)
            if not kept:
                first, last = min(first, span), max(last, span)
        denied = _Part(first, last, opposing, NatOp.ALTERNATION)
        span_text = self._sources.texts[refuted]
        if opposing is not None and is_negated(span_text) != is_negated(opposing.text):
            denied = replace(denied, operator=NatOp.NEGATION)
        return self._finished([*self._parts[:first], denied, *self._parts[last + 1 :]])


def _is_quoted(part: _Part) -> bool:
    return part.quote is not None and part.operator is not NatOp.INDEPENDENCE


def _is_balanced(text: str) -> bool:
    return text.count("(") == text.count(")")


def _adjoin(sentence: str, one: Quotation, other: Quotation) -> bool:
    """Return whether a quotation follows another with stop words alone between them."""
    if one.in_title or other.in_title or one.sentence_id != other.sentence_id:
        return False
    return one.end <= other.start and not content_stems(sentence[one.end : other.start])


def _whole(
    claim: str, evidence: Sequence[tuple[str, str]], reading: Reading, verdict: Verdict
) -> Proof:
    """Return the proof of one step for evidence of which no span can be quoted."""
    column = _ENTAILMENT if verdict is Verdict.SUPPORTS else _CONTRADICTION
    operator = NatOp.FORWARD if verdict is Verdict.SUPPORTS else NatOp.ALTERNATION
    ranked = np.argsort(-reading.sentences[:, column], kind="stable")
    quoted = _first_quotation([evidence[number] for number in ranked])
    return Proof((ProofStep(claim.strip(), quoted, operator),))


def _first_quotation(evidence: Sequence[tuple[str, str]]) -> str:
    parts = [part for pair in evidence for part in reversed(pair)]
    for text in (QuotableText.from_text(part, "") for part in parts):
        for first in range(len(text.words)):
            for last in reversed(list(text.span_ends(first))):
                return text.quote(first, last)
    return next(part.strip() for part in parts if part.strip())
