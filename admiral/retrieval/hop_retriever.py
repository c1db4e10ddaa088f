"""Stage 4: the hop retriever (paper, section 3.1), constrained beam search for document sets.

The model reads the claim and the evidence, and generates the identifiers of evidence sentences and
one title: ``e_i ... [ title ] </s>``. Each sequence stands for a document set: the documents of the
sentences and the titled one. Several sequences may stand for the same set; `score_document_sets`
sums their probabilities.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

from admiral.kb import KnowledgeBase
from admiral.kb.titles import TitleIndex
from admiral.protocols import HopRetriever, claim_limits, max_evidence, timed
from admiral.records import DocumentSet, Sentence
from proofs.generation.proof_grammar import encode_source, max_claim_tokens
from trie.automaton import Automaton, GrammarConstraint
from trie.beam_decoding import beam_search
from trie.grammar import FixedTokens, Segment, TrieSequence
from trie.safe_tokenizer import SafeTokenizer
from trie.seq2seq import Seq2Seq
from trie.token_trie import Ints, TokenTrie


class _State(NamedTuple):
    """The state after some identifiers; prefixes that allow the same continuations share one."""

    missing: int  # number of identifiers that must follow
    first: int  # position of the first that may follow
    taken: frozenset[int]  # documents, from there on, that already have one


class Identifiers:
    """A `trie.Segment` that accepts the identifiers of `count` distinct documents, in order.

    An identifier is allowed only if enough documents remain to complete the sequence. The value of
    the complete segment is 0.

    Raises ValueError if there are fewer than `count` documents, or two identifiers are equal.
    """

    def __init__(self, tokens: Sequence[int], documents: Sequence[Hashable], count: int) -> None:
        numbers: dict[Hashable, int] = {}
        self._tokens = tuple(tokens)
        self._documents = tuple(numbers.setdefault(d, len(numbers)) for d in documents)
        self._count = count
        if not 0 <= count <= len(numbers):
            raise ValueError(f"cannot name {count} of {len(numbers)} documents")
        if len(set(self._tokens)) < len(self._documents):
            raise ValueError("two pieces of evidence have the same identifier")
        self._states: list[_State] = []
        self._numbers: dict[_State, int] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identifiers) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        return self._tokens, self._documents, self._count

    def start_state(self, value: int) -> int:
        """Return the state before the first identifier."""
        return self._number(self._count, 0, frozenset())

    def successors(self, state: int) -> tuple[Ints, Ints]:
        """Return the allowed identifiers, in ascending order, and the states that they lead to."""
        missing, first, taken = self._states[state]
        next_states: dict[int, int] = {}
        remaining: set[int] = set()
        for position in reversed(range(first, len(self._tokens) if missing else first)):
            document = self._documents[position]
            if document not in taken:
                if len(remaining | {document}) >= missing:
                    still_taken = (taken | {document}) & set(self._documents[position + 1 :])
                    next_state = self._number(missing - 1, position + 1, still_taken)
                    next_states[self._tokens[position]] = next_state
                remaining.add(document)
        tokens = sorted(next_states)
        states = [next_states[token] for token in tokens]
        return np.array(tokens, dtype=np.int64), np.array(states, dtype=np.int64)

    def value(self, state: int) -> int | None:
        """Return 0 if no identifier is missing, else None."""
        return None if self._states[state].missing else 0

    def _number(self, missing: int, first: int, taken: frozenset[int]) -> int:
        state = _State(missing, first, taken) if missing else _State(0, 0, frozenset())
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number


class HopConstraint(GrammarConstraint):
    """A `trie.Constraint` that accepts `count` sentence identifiers and a title.

    A title may itself contain ``[`` and ``]``. The state, not the text, says whether it is
    complete.

    Raises ValueError if there are fewer than `count` documents, or no titles.

    - `identifiers`: the (number, document) pair of each evidence sentence. The numbers are
      distinct.
    """

    def __init__(
        self,
        trie: TokenTrie,
        tokens: SafeTokenizer,
        identifiers: Sequence[tuple[int, Hashable]],
        count: int,
    ) -> None:
        ordered = sorted(identifiers, key=lambda pair: pair[0])
        identifier_tokens = [tokens.identifier(number) for number, _ in ordered]
        if not len(trie):
            raise ValueError("there are no titles to choose from")
        self._trie, self._count = trie, count
        self._numbers = {
            token: number for token, (number, _) in zip(identifier_tokens, ordered, strict=True)
        }
        prefix = Identifiers(identifier_tokens, [document for _, document in ordered], count)
        titles = _in_brackets(tokens, TrieSequence(trie))
        super().__init__((prefix, *titles), Automaton(tokens.eos))

    def rows(self, state: int) -> tuple[int, ...]:
        """Return the rows of the titles that a complete sequence, which ends in `state`, spells.

        Raises ValueError if `state` does not follow the end token.
        """
        return tuple(self._trie.rows(self.value(state)).tolist())

    def parse(self, ids: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the identifier numbers and the rows of the title of a complete sequence.

        Raises ValueError if the constraint does not accept `ids`, which include the end token.
        """
        rows = self.rows(self.walk(ids))
        return tuple(self._numbers[token] for token in ids[: self._count]), rows


class TitlesConstraint(GrammarConstraint):
    """A `trie.Constraint` that accepts a sequence of `count` titles, each in brackets.

    This is the output of the paper's variant `joint-docs`. A title may occur twice.

    Raises ValueError if `count` is less than 1, or there are no titles.
    """

    def __init__(self, trie: TokenTrie, tokens: SafeTokenizer, count: int) -> None:
        if count < 1:
            raise ValueError(f"a sequence has at least one title, not {count}")
        self._trie, self._count = trie, count
        self._open, self._close = tokens.single_token("["), tokens.single_token("]")
        titles = _in_brackets(tokens, TrieSequence(trie))
        super().__init__(titles * count, Automaton(tokens.eos))

    def parse(self, ids: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """Return the rows of each title of a complete sequence.

        If there is more than one reading, the one with the shortest first titles is returned.

        Raises ValueError if the constraint does not accept `ids`, which include the end token.
        """
        self.value(self.walk(ids))
        return tuple(
            tuple(self._trie.rows(node).tolist()) for node in self._nodes(ids[:-1], self._count)
        )

    def _nodes(self, ids: Sequence[int], count: int) -> list[int]:
        """Return the trie nodes of `count` titles that together spell `ids`; empty if none do."""
        if not ids or ids[0] != self._open:
            return []
        node = self._trie.root
        for position in range(1, len(ids)):
            if ids[position] == self._close and self._trie.ends(node):
                rest = ids[position + 1 :]
                nodes = self._nodes(rest, count - 1) if count > 1 else []
                if len(nodes) == count - 1 and (count > 1 or not rest):
                    return [node, *nodes]
            node = self._trie.child(node, ids[position])
            if node < 0:
                break
        return []


def _in_brackets(tokens: SafeTokenizer, titles: Segment) -> tuple[Segment, ...]:
    return (
        FixedTokens((tokens.single_token("["),)),
        titles,
        FixedTokens((tokens.single_token("]"),)),
    )


@dataclass(frozen=True, slots=True)
class HopInput:
    """One input of the model, with what is needed to read its output."""

    index: int  # position of the claim in the batch
    ids: list[int]  # token ids of the claim and the evidence
    constraint: HopConstraint | TitlesConstraint  # the sequences that may be generated
    kept: tuple[str, ...]  # titles that belong to every document set (variant ``not-joint``)


class TrieHopRetriever:
    """Generate ``e_i ... [ title ]`` and score document sets by equations 1 and 2 of the paper.

    Parameters
    ----------
    trie, titles
        The trie of the titles that may be generated, and the titles of its rows.
    beam_size
        Beams from hop 1 on (paper: 25).
    normalise
        Score tokens by the softmax over the allowed tokens only, which the paper does not.
    variant
        ``ours`` scores sentences and title jointly. The others are the paper's ablations (section
        6, table 3): ``top-1`` reads only the best sentence, so its sets have two documents at every
        hop; ``not-joint`` scores the title alone and adds it to the documents of the best
        sentences, as many as the number of hops; ``joint-docs`` generates the titles of the whole
        set instead of sentence identifiers and needs a model trained for that
        (`training.multitask.multitask_settings.TrainConfig.target`).

    Attributes
    ----------
    claim_limits
        Number of tokens of a claim that the model reads.
    max_evidence
        Number of evidence sentences that the model has identifiers for.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokens: SafeTokenizer,
        trie: TokenTrie,
        titles: TitleIndex,
        *,
        beam_size: int = 25,
        title_beams: int = 10,
        normalise: bool = False,
        variant: str = "ours",
    ) -> None:
        self._model, self._tokens, self._trie, self._titles = model, tokens, trie, titles
        self._beam_size, self._title_beams = beam_size, title_beams
        self._normalise, self._variant = normalise, variant
        # The claim may fill half of the input; the evidence fills the rest.
        self.claim_limits = {
            "the hop retriever": max_claim_tokens(tokens, "retrieve", model.max_source // 2)
        }
        self.max_evidence = tokens.max_identifiers

    @timed("beam_search")
    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return document sets of size ``hop + 1``, best first; none if there is no evidence.

        If the evidence comes from fewer than `hop` documents, the sets are smaller.
        """
        document_sets: list[list[DocumentSet]] = [[] for _ in claims]
        given = enumerate(zip(claims, evidence, hops, strict=True))
        inputs = [one for at, each in given if (one := self._input(at, *each)) is not None]
        for beams, batch in (
            (self._title_beams, [i for i in inputs if not hops[i.index]]),
            (self._beam_size, [i for i in inputs if hops[i.index]]),
        ):
            if not batch:
                continue
            results = beam_search(
                self._model,
                [model_input.ids for model_input in batch],
                [model_input.constraint for model_input in batch],
                beam_size=beams,
                max_length=self._model.max_target,
                normalise=self._normalise,
            )
            for model_input, hypotheses in zip(batch, results, strict=True):
                own = evidence[model_input.index]
                document_sets[model_input.index] = score_document_sets(
                    ScoredSequence(model_input.kept or kept, title, hypothesis.score)
                    for hypothesis in hypotheses
                    for kept, title in self._parse(model_input.constraint, hypothesis.tokens, own)
                )
        return document_sets

    def _input(
        self, index: int, claim: str, evidence: Sequence[Sentence], hop: int
    ) -> HopInput | None:
        """Return the input of a claim; None if it is not at hop 0 and has no evidence."""
        sentences = tuple(evidence[:1] if self._variant == "top-1" else evidence) if hop else ()
        documents = tuple(dict.fromkeys(s.title for s in sentences))[:hop]
        if hop and not documents:
            return None
        count = 0 if self._variant == "not-joint" else len(documents)
        pairs = [(s.title, s.text) for s in sentences]
        source = encode_source(
            self._tokens, "retrieve", claim, pairs, self._model.max_source, count
        )
        constraint: HopConstraint | TitlesConstraint
        if self._variant == "joint-docs":
            constraint = TitlesConstraint(self._trie, self._tokens, count + 1)
        else:
            identifiers = [(number, s.title) for number, s in enumerate(sentences)]
            constraint = HopConstraint(self._trie, self._tokens, identifiers, count)
        kept = documents if self._variant == "not-joint" else ()
        return HopInput(index, source.ids, constraint, kept)

    def _parse(
        self,
        constraint: HopConstraint | TitlesConstraint,
        ids: Sequence[int],
        evidence: Sequence[Sentence],
    ) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the kept documents and the new document that a sequence stands for.

        There is more than one reading if the tokenizer encodes several titles alike. They share
        the sequence and its score.
        """
        if isinstance(constraint, HopConstraint):
            numbers, rows = constraint.parse(ids)
            kept = tuple(evidence[number].title for number in numbers)
            for row in rows:
                yield kept, self._titles.title(row)
            return
        for rows in product(*constraint.parse(ids)):
            *before, last = map(self._titles.title, rows)
            if len(set(before)) == len(before):
                yield tuple(before), last


@dataclass(frozen=True, slots=True)
class ScoredSequence:
    """A decoded sequence."""

    kept: tuple[str, ...]  # the documents of its sentence identifiers
    title: str
    score: float  # natural log probability


def score_document_sets(sequences: Iterable[ScoredSequence]) -> list[DocumentSet]:
    """Return the document sets of sequences, scored by equations 1 and 2 of the paper, best first.

    The score of a set is the log of the sum of the probabilities of all sequences that stand for
    it, the order of its titles that of the most probable one. Sequences whose title is one of their
    kept documents add nothing and are dropped. Ties are sorted by title.
    """
    best: dict[frozenset[str], ScoredSequence] = {}
    scores: dict[frozenset[str], list[float]] = {}
    for sequence in sequences:
        if sequence.title in sequence.kept:
            continue
        key = frozenset((*sequence.kept, sequence.title))
        scores.setdefault(key, []).append(sequence.score)
        if key not in best or sequence.score > best[key].score:
            best[key] = sequence
    document_sets = [
        DocumentSet((*best[key].kept, best[key].title), float(np.logaddexp.reduce(values)))
        for key, values in scores.items()
    ]
    return sorted(document_sets, key=lambda s: (-s.score, s.titles))


class HyperlinkHopRetriever:
    """Append the linked titles to each evidence sentence before the hop (paper, section 6)."""

    def __init__(self, retriever: HopRetriever, documents: KnowledgeBase) -> None:
        self._retriever, self._documents = retriever, documents
        self.claim_limits, self.max_evidence = claim_limits(retriever), max_evidence(retriever)

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return the document sets for the evidence with its hyperlinks."""
        extended = [[self._with_hyperlinks(s) for s in sentences] for sentences in evidence]
        return self._retriever.expand(claims, extended, hops)

    def _with_hyperlinks(self, sentence: Sentence) -> Sentence:
        links = self._documents.document(sentence.title).links
        if not links or not links[sentence.index]:
            return sentence
        return replace(sentence, text=f"{sentence.text} {', '.join(links[sentence.index])}")


class PerHopRetriever:
    """Generate documents by a hop retriever for each hop, as the paper trains them.

    `retrievers`: those of hop 0, which generates titles from the claim alone, of hop 1, and so on;
    the last one serves all later hops.
    """

    def __init__(self, retrievers: Sequence[TrieHopRetriever]) -> None:
        self._retrievers = retrievers
        self.claim_limits = {
            f"the hop retriever of hop {hop}": limit
            for hop, retriever in enumerate(retrievers)
            for limit in retriever.claim_limits.values()
        }
        self.max_evidence = min(retriever.max_evidence for retriever in retrievers[1:])

    def expand(
        self, claims: Sequence[str], evidence: Sequence[Sequence[Sentence]], hops: Sequence[int]
    ) -> list[list[DocumentSet]]:
        """Return document sets of size ``hop + 1`` for each claim, best first."""
        found: list[list[DocumentSet]] = [[] for _ in claims]
        last = len(self._retrievers) - 1
        for hop, retriever in enumerate(self._retrievers):
            at = [index for index, made in enumerate(hops) if min(made, last) == hop]
            own = [claims[i] for i in at], [evidence[i] for i in at], [hops[i] for i in at]
            for index, sets in zip(at, retriever.expand(*own) if at else (), strict=True):
                found[index] = sets
        return found
