"""What is known about one claim while it is processed: what its hops found, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from admiral.records import Claim, DocumentSet, Hop, Proximity, ScoredTitle, Sentence, Stopped
from admiral.retrieval.evidence import best_scores
from admiral.retrieval.first_stage import interleaved
from proofs import Judgement

#: In place of the judgement of a hop that is not complete.
NOT_JUDGED = Judgement(False, None)


class NextStep(Enum):
    """The next step of the hop loop for a claim that has not stopped."""

    FIRST_STAGE = auto()
    """Find candidate documents from the claim alone."""
    READ = auto()
    """Rerank the sentences of the documents, choose the evidence and judge it."""
    EXPAND = auto()
    """Find the document sets of the next hop."""


@dataclass(frozen=True, slots=True)
class HopRecord:
    """The results of one hop."""

    # The hop as the result reports it; while evidence is only tried out, without judgement.
    hop: Hop
    # All its document sets, best first; none from the second hop on without a generator.
    document_sets: Sequence[DocumentSet]
    # The score of the best sentence of each document that it read.
    best_scores: Mapping[str, float] = field(default_factory=dict)
    # The generative scores of these documents: the log probability that the model, given the
    # evidence of the hop before, names each of them.
    title_scores: Mapping[str, float] = field(default_factory=dict)
    # The first sentences of its evidence, on which later hops and the ranking build. The others
    # complete the evidence; they would only distract the search.
    leading: Sequence[Sentence] = ()
    mentioned: Sequence[str] = ()  # the titles that the leading sentences mention
    # How close documents are in the graph to the claim and to its evidence.
    proximity: Mapping[str, Proximity] = field(default_factory=dict)


@dataclass(slots=True)
class SearchState:
    """The state of the search for one claim."""

    claim: Claim
    # The documents of the first stage, best first; None before it has run.
    candidates: list[ScoredTitle] | None = None
    claim_mentions: list[str] = field(default_factory=list)  # the titles that the claim mentions
    records: list[HopRecord] = field(default_factory=list)  # what each completed hop has found
    # The document sets of the next hop, best first, once it has expanded.
    next_sets: list[DocumentSet] = field(default_factory=list)
    # The titles of documents that are close in the graph to the evidence of the last hop.
    graph_titles: list[str] = field(default_factory=list)
    # What the hop loop does next, unless the claim has stopped.
    next_step: NextStep = NextStep.FIRST_STAGE
    stopped: Stopped | None = None  # why the claim has stopped; None while it has not

    @property
    def hops(self) -> list[Hop]:
        """The completed hops."""
        return [record.hop for record in self.records]

    @property
    def evidence(self) -> tuple[Sentence, ...]:
        """The evidence of the last hop."""
        return self.records[-1].hop.evidence if self.records else ()

    @property
    def leading(self) -> Sequence[Sentence]:
        """The sentences of the last hop's evidence that the next hop builds on."""
        return self.records[-1].leading if self.records else ()

    @property
    def next_titles(self) -> Sequence[str]:
        """The titles that the evidence of the last hop mentions."""
        return self.records[-1].mentioned if self.records else ()

    def titles_to_read(self, count: int) -> list[str]:
        """Return the titles of the documents that the next hop reads, `count` at most.

        The first hop reads the candidates. Later hops read the documents of the evidence again and,
        even beyond `count`, one more: interleaved follow the documents of the hop's sets, those
        that the evidence mentions, the candidates, and those that are close to the evidence in the
        graph. The claim may show only now that one of these matters.
        """
        candidates = [candidate.title for candidate in self.candidates or ()]
        if not self.records:
            return candidates[:count]
        in_sets = list(dict.fromkeys(t for s in self.next_sets for t in s.titles))
        in_evidence = dict.fromkeys(sentence.title for sentence in self.leading)
        new_titles = interleaved(in_sets, self.next_titles, candidates, self.graph_titles)
        return list(dict.fromkeys([*in_evidence, *new_titles]))[: max(count, len(in_evidence) + 1)]

    def kept_sentences(self) -> list[Sentence]:
        """Return the evidence that the next hop builds on, for the reranker to read.

        These are the best evidence sentences of the documents that the best document set keeps from
        the hop before: all of its documents but the last one, which is new. Without document sets,
        as many documents are kept, those of the best evidence.
        """
        best = {s.title: s for s in reversed(self.leading)}  # the first and best sentence wins
        if self.next_sets:
            kept = self.next_sets[0].titles[:-1]
        else:
            kept = tuple(dict.fromkeys(s.title for s in self.leading))[: len(self.records)]
        return [best[title] for title in kept if title in best]

    def reading(
        self,
        sentences: Sequence[Sentence],
        evidence: tuple[Sentence, ...] = (),
        title_scores: Mapping[str, float] | None = None,
        mentioned: Sequence[str] = (),
        leading: Sequence[Sentence] | None = None,
    ) -> HopRecord:
        """Return the record of the next hop, not yet judged, if it keeps this evidence.

        All evidence leads unless `leading` is given.

        The document sets of the first hop, `D_1`, are one for each candidate, sorted by their best
        sentences, which are given best first; candidates that were not read come last.
        """
        read = tuple(dict.fromkeys(sentence.title for sentence in sentences))
        document_sets: Sequence[DocumentSet] = self.next_sets
        if not self.records:
            rank = {title: number for number, title in enumerate(read)}
            ordered = sorted(self.candidates or (), key=lambda c: rank.get(c.title, len(rank)))
            document_sets = [DocumentSet((c.title,), c.score) for c in ordered]
        hop = Hop(len(self.records) + 1, (), evidence, NOT_JUDGED, 0.0, read)
        return HopRecord(
            hop,
            document_sets,
            best_scores(sentences),
            title_scores or {},
            evidence if leading is None else leading,
            mentioned,
        )

    def with_record(self, record: HopRecord) -> SearchState:
        """Return a copy that has completed one more hop, for trying out a choice of evidence."""
        return replace(self, records=[*self.records, record])

    def before_reading(self, number: int) -> SearchState:
        """Return a copy of the state after `number` hops, when the next one was about to read."""
        next_sets = list(self.records[number].document_sets)
        return replace(self, records=self.records[:number], next_sets=next_sets)

    def first_hops(self, count: int) -> SearchState:
        """Return a copy that ends after the first `count` hops."""
        next_step = NextStep.EXPAND if self.records[:count] else self.next_step
        return replace(self, records=self.records[:count], next_sets=[], next_step=next_step)
