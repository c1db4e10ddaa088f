"""The input of the proof generator, and the grammar that constrains its output.

The input is a claim and its evidence sentences as one sequence of tokens:
``<s> [task] [hop] claim </s> [id] [ title ] sentence </s> ...`` (paper, appendix A.1), without
``<s>`` for models that have none, such as T5. The task token, the hop token and the identifier
before each sentence are present if the checkpoint's vocabulary has them: a small model copies
``<e1>`` more reliably than it counts sentences, and the hop token is its only clue to the number of
identifiers that the hop grammar requires.

A proof is ``{ claim span } [ evidence span ] OP``, repeated until the claim is used up. Every
sequence that the grammar accepts parses, covers the claim and quotes the evidence. Spans end where
both words and tokens of the original texts end, so a decoded proof quotes the original wording and
case whatever the tokenizer does to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from proofs.logic import SUFFICIENCY_OPERATORS, NatOp
from proofs.logic.proof import MAX_STEPS, Proof, ProofError, ProofStep, QuotableText, quotable_texts
from proofs.logic.words import locate_spans, word_spans
from trie import (
    Alternatives,
    Automaton,
    BoundedTrieSequence,
    Deferred,
    FixedTokens,
    Grammar,
    GrammarConstraint,
    SafeTokenizer,
    SpanFrom,
    TokenSet,
    TokenTrie,
)


@dataclass(frozen=True, slots=True)
class WordUnits:
    """The tokens of a text, divided into units: the smallest spans of both words and tokens.

    A unit is usually a word. It is longer if a token spans two words, or if a word has no token of
    its own, such as a lone control character.
    """

    ids: tuple[int, ...]
    # Positions in `ids`, ascending: unit ``u`` has the tokens ``[cuts[u], cuts[u + 1])``.
    cuts: tuple[int, ...]
    # The first and last (inclusive) character span that each unit covers.
    spans: tuple[tuple[int, int], ...]


def divide_tokens(
    tokens: SafeTokenizer,
    text: str,
    spans: Sequence[tuple[int, int]],
    never_first: Collection[int] = (),
) -> WordUnits:
    """Divide the tokens of a text at the borders of character spans.

    `spans`: characters ``[start, end)`` in order, not overlapping, with only white space between
    them. `never_first`: SafeTokenizer with which no unit except the first may begin.
    """
    ids, offsets = tokens.encode_with_offsets(text)
    if not spans:
        return WordUnits((), (0,), ())
    owner = _span_of_character(text, spans)
    # For each span, the last token that touches it or an earlier one, and the first that touches
    # it or a later one. A border between spans is a border between tokens if these do not cross.
    last = [-1] * len(spans)
    first = [len(ids)] * len(spans)
    for position, (start, end) in enumerate(offsets):
        for span in {owner[c] for c in range(start, min(end, len(owner)))} - {-1}:
            last[span] = max(last[span], position)
            first[span] = min(first[span], position)
    for span in range(1, len(spans)):
        last[span] = max(last[span], last[span - 1])
    for span in range(len(spans) - 2, -1, -1):
        first[span] = min(first[span], first[span + 1])
    cuts, begins = [0], [0]
    for span in range(1, len(spans)):
        cut = last[span - 1] + 1
        if cuts[-1] < cut <= first[span] < len(ids) and ids[cut] not in never_first:
            cuts.append(cut)
            begins.append(span)
    ends = [begin - 1 for begin in begins[1:]] + [len(spans) - 1]
    return WordUnits(tuple(ids), (*cuts, len(ids)), tuple(zip(begins, ends, strict=True)))


def claim_units(
    tokens: SafeTokenizer, claim: str, closing: int
) -> tuple[WordUnits, list[tuple[int, int]]]:
    """Return the units of a claim and the characters ``[start, end)`` of each.

    No unit begins with the token `closing`, which would end the claim span before it.
    """
    words = word_spans(claim)
    units = divide_tokens(tokens, claim, words, (closing,))
    return units, [(words[a][0], words[b][1]) for a, b in units.spans]


def evidence_units(tokens: SafeTokenizer, text: QuotableText) -> WordUnits:
    """Return the units of an evidence text; their spans are numbers of words of `text`."""
    return divide_tokens(tokens, text.text, [(word.start, word.end) for word in text.words])


def _span_of_character(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return the number of the span of each character, -1 for white space between spans."""
    owner = [-1] * len(text)
    for number, (start, end) in enumerate(spans):
        owner[start:end] = [number] * (end - start)
    return owner


class Quotations:
    """All spans of the evidence that may be quoted, as spans of its tokens.

    Token positions count through the texts of the evidence, titles and sentences, in order.

    `closing`: the token of ``]``, which no quotation may contain.

    Attributes
    ----------
    segment
        The quotations as a segment of a grammar, or None if nothing can be quoted.
    """

    def __init__(
        self, tokens: SafeTokenizer, evidence: Sequence[tuple[str, str]], closing: int
    ) -> None:
        self._ids = ids = list[int]()
        # For each quotation: its tokens, and the number and the characters of its text.
        self._token_spans: list[tuple[int, int]] = []
        self._text_spans: list[tuple[int, int, int]] = []
        self.texts = quotable_texts(evidence)
        for number, text in enumerate(self.texts):
            units = evidence_units(tokens, text)
            base = len(ids)
            ids.extend(units.ids)
            unit_ending_at = {last: unit for unit, (_, last) in enumerate(units.spans)}
            for unit, (first, _) in enumerate(units.spans):
                begin = base + units.cuts[unit]
                for last in text.span_ends(first):
                    if last not in unit_ending_at:
                        continue
                    end = base + units.cuts[unit_ending_at[last] + 1]
                    if closing in ids[begin:end]:
                        break
                    if end > begin:
                        self._token_spans.append((begin, end))
                        characters = text.words[first].start, text.words[last].end
                        self._text_spans.append((number, *characters))
        self._trie = TokenTrie.build(ids[begin:end] for begin, end in self._token_spans)
        self.segment = BoundedTrieSequence(self._trie) if self._token_spans else None

    def text(self, quoted: Sequence[int]) -> str:
        """Return the original text of a complete quotation, at its first occurrence."""
        rows = self._trie.rows(self._trie.walk(quoted))
        return self._original(self._text_spans[rows[0]])

    def token_ids(self, quoted: str) -> list[int]:
        """Return the tokens of a quotation, or of the one that overlaps it most.

        A span that begins or ends inside a token cannot be quoted exactly. The list is empty if
        nothing can be quoted.
        """
        for token_span, text_span in zip(self._token_spans, self._text_spans, strict=True):
            if self._original(text_span) == quoted:
                return self._ids[slice(*token_span)]
        starts = [text.text.find(quoted) for text in self.texts]
        best: tuple[float, tuple[int, int]] | None = None
        for token_span, (number, begin, end) in zip(
            self._token_spans, self._text_spans, strict=True
        ):
            start = starts[number]
            common = min(end, start + len(quoted)) - max(begin, start) if start >= 0 else 0
            overlap = max(common, 0) / max(end - begin, len(quoted))
            if best is None or overlap > best[0]:
                best = overlap, token_span
        return self._ids[slice(*best[1])] if best is not None else []

    def _original(self, text_span: tuple[int, int, int]) -> str:
        number, begin, end = text_span
        return self.texts[number].text[begin:end]


#: Default for the most words of a claim span.
MAX_CLAIM_WORDS = 12

# The marks around claim spans and quotations.
_BRACKETS = "{}[]"
# The shortest step is `{ claim } [ ] #`: five tokens besides those of the claim.
_STEP_MARKS = 5


def missing_proof_marks(
    tokens: SafeTokenizer, operators: Iterable[NatOp] = tuple(NatOp)
) -> list[str]:
    """Return the marks of proofs that a vocabulary has no token for, such as ``{`` in T5's."""
    missing = []
    for mark in (*_BRACKETS, *(operator.value for operator in operators)):
        try:
            tokens.single_token(mark)
        except ValueError:
            missing.append(mark)
    return missing


class ProofGrammar(GrammarConstraint):
    """A `trie.Constraint` that accepts the proofs of one claim over the given evidence.

    - `max_length`: most tokens of a proof, including the end token. When they run short, the
      grammar forces the proof to end with the rest of the claim as one uncovered span.
    - `max_steps`: the last one takes the rest of the claim.
    - `max_claim_words`: longest claim span except the last; raised where too short for a claim.
    - `operators`: those to allow; must include independence.
    - `stop_at_independence`: see `ProofGenerator`.
    - `units`, `characters`: the claim's tokens, divided into units at which spans begin and end,
      and the characters ``[start, end)`` of each.

    Raises ProofError if the claim has no words or does not fit into `max_length` tokens, and
    ValueError if `max_steps` is less than 1 or independence is not allowed.
    """

    def __init__(
        self,
        tokens: SafeTokenizer,
        claim: str,
        evidence: Sequence[tuple[str, str]],
        *,
        max_length: int,
        max_steps: int = MAX_STEPS,
        max_claim_words: int = MAX_CLAIM_WORDS,
        operators: Sequence[NatOp] = SUFFICIENCY_OPERATORS,
        stop_at_independence: bool = False,
    ) -> None:
        if max_steps < 1 or NatOp.INDEPENDENCE not in operators:
            raise ValueError("a proof needs a step and the operator '#'")
        self._claim, self.max_length, self._max_steps = claim, max_length, max_steps
        self._stop_at_independence = stop_at_independence
        self._marks = {mark: tokens.single_token(mark) for mark in _BRACKETS}
        self._operators = {tokens.single_token(op.value): op for op in operators}
        self._independence = tokens.single_token(NatOp.INDEPENDENCE.value)
        self.units, self.characters = claim_units(tokens, claim, self._marks["}"])
        if not self.characters:
            raise ProofError("a claim without words has no proof")
        self._claim_length = len(self.units.ids)
        self._unit_at = {cut: unit for unit, cut in enumerate(self.units.cuts)}
        if self._claim_length + _STEP_MARKS + 1 > max_length:
            raise ProofError(
                f"the proof of a claim of {self._claim_length} tokens does not fit into "
                f"{max_length}"
            )
        # Joining chunks down to max_steps makes none longer than twice the average.
        self._max_units = max(max_claim_words, -(-2 * len(self.characters) // max_steps))
        self.quotations = Quotations(tokens, evidence, self._marks["]"])
        spare = max_length - self._claim_length - _STEP_MARKS - 1
        super().__init__(self._steps_from(spare, 0, 0), Automaton(tokens.eos))

    def proof(self, tokens: Sequence[int]) -> Proof:
        """Return the proof of decoded tokens, in the wording of the original texts.

        If the sequence stopped at independence, the proof has the steps up to there.

        Raises ProofError if the grammar does not accept the sequence up to its end token.
        """
        try:
            state = self.walk(tokens)
        except ValueError as error:
            raise ProofError(f"not a proof of the claim: {error}") from None
        if not self.automaton.values(state):
            raise ProofError("the proof is not complete")
        steps = []
        place = at = first = 0  # positions in the proof, in the claim's tokens and in its units
        while tokens[place] == self._marks["{"]:
            place += 1
            # No unit begins with the closing mark, so at a unit border it ends the span.
            while (unit := self._unit_at.get(at, 0)) <= first or tokens[place] != self._marks["}"]:
                place, at = place + 1, at + 1
            begin, stop = self.characters[first][0], self.characters[unit - 1][1]
            end = tokens.index(self._marks["]"], place)
            quoted = tokens[place + 2 : end]
            steps.append(
                ProofStep(
                    self._claim[begin:stop],
                    self.quotations.text(quoted) if quoted else "",
                    self._operators[tokens[end + 1]],
                )
            )
            place, first = end + 2, unit
        return Proof(tuple(steps))

    # The grammar's productions. `spare` is the number of tokens left beyond the shortest completion
    # of the proof, the rest of the claim as one uncovered span. A step that ends before the claim
    # takes the marks of another step from it, and a quotation takes its own tokens.

    def _steps_from(self, spare: int, step: int, at: int) -> Grammar:
        """Declare the rest of the proof: step number `step` begins at the claim's token `at`."""
        unit = self._unit_at[at] if at else 0
        ends = self.units.cuts[unit + 1 : unit + 1 + self._max_units]
        if step + 1 == self._max_steps or spare < _STEP_MARKS:
            ends = self.units.cuts[-1:]
        claim_span = SpanFrom(self.units.ids, at, ends)
        return self._mark("{"), claim_span, Deferred(self._after_claim_span, (spare, step + 1))

    def _after_claim_span(self, spare: int, step: int, at: int) -> Grammar:
        spare -= _STEP_MARKS if at < self._claim_length else 0
        alternatives: list[Grammar] = []
        quotable = self.quotations.segment
        if quotable is not None and quotable.shortest <= spare:
            rest = Deferred(self._after_quotation, (quotable, spare, step, at))
            alternatives.append((quotable.within(spare), self._mark("]"), rest))
        uncovered = self._one_operator([self._independence], spare, step, at)
        alternatives.append((self._mark("]"), *uncovered))
        return self._mark("}"), self._mark("["), Alternatives(*alternatives)

    def _after_quotation(
        self, spans: BoundedTrieSequence, spare: int, step: int, at: int, node: int
    ) -> Grammar:
        return self._one_operator(self._operators, spare - spans.trie.depth(node), step, at)

    def _one_operator(self, operators: Collection[int], spare: int, step: int, at: int) -> Grammar:
        return TokenSet(operators), Deferred(self._after_operator, (spare, step, at))

    def _after_operator(self, spare: int, step: int, at: int, operator: int) -> Grammar:
        independent = self._operators[operator] is NatOp.INDEPENDENCE
        ends = at == self._claim_length or (independent and self._stop_at_independence)
        return () if ends else self._steps_from(spare, step, at)

    def _mark(self, mark: str) -> FixedTokens:
        return FixedTokens((self._marks[mark],))


def target_ids(
    tokens: SafeTokenizer,
    proof: Proof,
    claim: str,
    evidence: Sequence[tuple[str, str]],
    *,
    max_length: int = 512,
) -> list[int]:
    """Return the tokens of a proof, with the end token and without a start token.

    Spans are cut only at token borders: a step whose claim span ends inside a token is extended to
    the end of the token, and a step without a token of its own is merged with the previous step,
    which is independent if either is.

    `proof`, `claim`, `evidence`: a proof that is valid for the claim and the evidence, pairs of
    title and sentence. `max_length`: most tokens that the model decodes.

    Raises ProofError if the proof does not fit the claim, the evidence or `max_length`.
    """
    proof.validate(claim, evidence)
    grammar = ProofGrammar(tokens, claim, evidence, max_length=max_length, operators=tuple(NatOp))
    marks = {symbol: tokens.single_token(symbol) for symbol in "{}[]"}
    cuts = grammar.units.cuts
    ids: list[int] = []
    for begin, end, step in _align_to_units(proof, claim, grammar):
        claim_span = grammar.units.ids[cuts[begin] : cuts[end]]
        ids += [marks["{"], *claim_span, marks["}"], marks["["]]
        quoted = grammar.quotations.token_ids(step.evidence) if step.evidence else []
        if not quoted and step.operator is not NatOp.INDEPENDENCE:
            raise ProofError(f"nothing in the evidence can be quoted for {step.claim!r}")
        ids += [*quoted, marks["]"], tokens.single_token(step.operator.value)]
    ids.append(tokens.eos)
    grammar.proof(ids)  # raises if a limit of the grammar is exceeded
    return ids


def _align_to_units(
    proof: Proof, claim: str, grammar: ProofGrammar
) -> list[tuple[int, int, ProofStep]]:
    aligned: list[tuple[int, int, ProofStep]] = []
    spans = locate_spans(claim, (step.claim for step in proof.steps))
    for step, (_, span_end) in zip(proof.steps, spans, strict=True):
        end = 1 + next(u for u, (_, stop) in enumerate(grammar.characters) if stop >= span_end)
        begin = aligned[-1][1] if aligned else 0
        if end > begin:
            aligned.append((begin, end, step))
        else:
            first, last, previous = aligned[-1]
            aligned[-1] = first, last, _merge_steps(previous, step)
    return aligned


def _merge_steps(previous: ProofStep, step: ProofStep) -> ProofStep:
    if NatOp.INDEPENDENCE in (previous.operator, step.operator):
        return ProofStep(previous.claim, "", NatOp.INDEPENDENCE)
    return step if previous.operator is NatOp.EQUIVALENCE else previous


@dataclass(frozen=True, slots=True)
class SourceInput:
    """An encoder input."""

    ids: list[int]
    truncated: bool


def max_claim_tokens(tokens: SafeTokenizer, task: str, max_length: int) -> int:
    """Return the most tokens of a claim's text that `encode_claim` fits into `max_length` ids."""
    marks = len(tokens.input_head) + (tokens.task(task) is not None) + 1
    return max(max_length - marks, 0)


def encode_claim(
    tokens: SafeTokenizer, task: str, claim: str, max_length: int, hop: int | None = None
) -> tuple[list[int], bool]:
    """Encode ``<s> [task] [hop] claim </s>``.

    `hop`: the number of identifiers that the output has before its title; None for other tasks.
    """
    head = tokens.input_head
    task_token = tokens.task(task)
    if task_token is not None:
        head.append(task_token)
    hop_token = None if hop is None else tokens.hop(hop)
    if hop_token is not None:
        head.append(hop_token)
    body = tokens.encode(claim)
    max_body = max(max_length - len(head) - 1, 0)
    return head + body[:max_body] + [tokens.eos], len(body) > max_body


def _encode_sentence(
    tokens: SafeTokenizer, position: int, title: str, sentence: str, max_length: int
) -> list[int]:
    """Return ``[id] [ title ] sentence </s>`` in at most `max_length` ids."""
    head = []
    if tokens.task("retrieve") is not None:
        head.append(tokens.identifier(position))
    head.append(tokens.single_token("["))
    body = [*tokens.encode(title), tokens.single_token("]"), *tokens.encode(sentence)]
    max_body = max(max_length - len(head) - 1, 0)
    return head + body[:max_body] + [tokens.eos]


def encode_source(
    tokens: SafeTokenizer,
    task: str,
    claim: str,
    evidence: Sequence[tuple[str, str]],
    max_length: int,
    hop: int | None = None,
) -> SourceInput:
    """Encode a claim and its evidence as one encoder input.

    If not everything fits, the claim may take half of the input and the sentences share the rest:
    long sentences are cut to the same length, short ones stay whole.

    `hop`: the number of identifiers that the output has before its title; None for other tasks.
    """
    claim_length = max_length if not evidence else max_length // 2
    ids, truncated = encode_claim(tokens, task, claim, claim_length, hop)
    sentences = [
        _encode_sentence(tokens, position, title, sentence, max_length)
        for position, (title, sentence) in enumerate(evidence)
    ]
    share = _fair_share([len(s) for s in sentences], max_length - len(ids))
    for sentence in sentences:
        if len(sentence) > share:
            truncated = True
            sentence = [*sentence[: max(share - 1, 0)], tokens.eos][:share]
        ids = ids + sentence
    return SourceInput(ids, truncated)


def _fair_share(lengths: Sequence[int], total: int) -> int:
    """Return the largest cap such that the capped lengths sum to at most `total`."""
    if sum(lengths) <= total:
        return max(lengths, default=0)
    count = len(lengths)
    for length in sorted(lengths):
        if length * count > total:
            break
        total -= length
        count -= 1
    return total // count
