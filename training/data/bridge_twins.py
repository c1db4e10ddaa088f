"""Twins of claims of several documents: the claim stays, and its evidence loses a link.

A claim on a chain of documents holds only if the sentence of one names the next. In the twin, that
name is a general noun ("directed by Ann Lee" becomes "directed by a director"), as the document
changes and the claim stays in FactCG (Lei et al., 2025). The evidence that keeps the link has a
general noun as well, in a sentence that retrieval finds for the claim and that it does not need; so
a general noun does not give the label away.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import permutations

from admiral.gold import GoldClaim
from admiral.records import Document
from admiral.retrieval.first_stage import base_title
from training.data.evidence_corpora import Corpus, gold_sentences, holds_gold
from training.data.evidence_examples import LABELS
from training.data.examples import NOT_ENTAILMENT, RELEVANT, Example, Labelled, Sentence
from training.data.world_values import article
from training.synthesis.profiles import parse_profile, slot_at

_MAX_OTHERS = 2
_SEARCHED_DOCUMENTS, _SEARCHED_SENTENCES = 8, 4
_NAME = re.compile(r"[A-Z][\w'’.-]*\w(?: (?:(?:of|the|and) )?[A-Z][\w'’.-]*\w)*")
_PERSON = 0.4  # share of people that are "a person" rather than what they do


def bridge_twins(
    claim: GoldClaim, corpus: Corpus, source: str, rng: random.Random
) -> Iterator[Example]:
    """Yield a claim with its evidence, then with evidence that lacks a link; none without a link.

    Of a refuted claim, what is left may still refute it, so the twin is not entailed at least.
    """
    label = None if claim.label is None else LABELS[claim.label]
    if label not in ("entailment", "contradiction") or not holds_gold(corpus, claim):
        return
    gold = gold_sentences(claim, corpus)
    links = list(permutations(claim.titles, 2))
    rng.shuffle(links)
    for title, bridge in links:
        general = _general(corpus.document(bridge), rng)
        if general and base_title(bridge).casefold() not in claim.claim.casefold():
            unlinked = _without_link(gold, title, bridge, general)
            if unlinked:
                break
    else:
        return
    control = _control(claim, corpus, title, bridge, rng)
    if control is None:
        return
    others = [
        (name, text)
        for name in claim.titles
        for n, text in enumerate(corpus.document(name).sentences)
        if text.strip() and n not in claim.sentence_numbers(name)
        if not _links([(name, text)], title, bridge)
    ]
    others = rng.sample(others, min(rng.randint(0, _MAX_OTHERS), len(others)))
    order = rng.sample(range(size := len(gold) + 1 + len(others)), size)
    bare = Example(claim.claim, (), label, source, group=claim.id)
    # What is said of the parts is known, except where the name was.
    known = label if label == "entailment" else RELEVANT
    whole: list[Labelled] = [(sentence, known) for sentence in gold]
    twin: list[Labelled] = [
        (s, known if label == "entailment" and s in gold else None) for s in unlinked
    ]
    open_label = "neutral" if label == "entailment" else NOT_ENTAILMENT
    for items, other, name in ((whole, control[1], label), (twin, control[0], open_label)):
        items += [(other, None), *((sentence, None) for sentence in others)]
        yield bare.with_evidence([items[at] for at in order], name)


def _control(
    claim: GoldClaim, corpus: Corpus, title: str, bridge: str, rng: random.Random
) -> tuple[Sentence, Sentence] | None:
    """Return a sentence that the claim does not need, and the same with a general noun in it."""
    (results,) = corpus.search([claim.claim], _SEARCHED_DOCUMENTS)
    found = [result.title for result in results if result.title not in claim.all_titles]
    for own in rng.sample(found, len(found)):
        for text in corpus.document(own).sentences[:_SEARCHED_SENTENCES]:
            names = [name for name in _NAME.findall(text) if corpus.row(name) is not None]
            for name in () if _links([(own, text)], title, bridge) else names:
                general = _general(corpus.document(name), rng)
                changed = _generalised(text, name, general) if general else text
                if changed != text and name != own:
                    return (own, text), (own, changed)
    return None


def _general(document: Document, rng: random.Random) -> str:
    """Return what the first sentence says that a document is, by a noun; empty if it does not."""
    profile = parse_profile(document)
    noun = profile.noun
    words = re.findall(r"\w+", profile.definition)  # a name is not there in small letters
    if noun not in words or not noun.isalpha() or noun.endswith(("s", "largest", "oldest")):
        return ""
    return article("person" if profile.person and rng.random() < _PERSON else noun)


def _without_link(
    gold: Sequence[Sentence], title: str, bridge: str, general: str
) -> list[Sentence] | None:
    """Return sentences with a general noun for the bridge; None if a link stays, or there is none.

    `title`, `bridge`: the document of the sentences to change, and the one that they name.
    """
    changed = [
        (name, _generalised(text, base_title(bridge), general) if name == title else text)
        for name, text in gold
    ]
    return None if changed == list(gold) or _links(changed, title, bridge) else changed


def _links(sentences: Sequence[Sentence], title: str, bridge: str) -> bool:
    """Return whether a sentence names the bridge or, of its document, the one that names it."""
    return any(_names(text, title if name == bridge else bridge) for name, text in sentences)


def _names(text: str, title: str) -> bool:
    """Return whether a text has a title or the last word of one, such as a surname."""
    last = base_title(title).rsplit(" ", 1)[-1]
    return re.search(rf"(?<!\w){re.escape(last)}(?!\w)", text) is not None


def _generalised(text: str, name: str, general: str) -> str:
    """Return a text with a general noun in place of a name that nothing else says something of."""
    pieces, end = [], 0
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
        slot = slot_at(text, *match.span(), name)
        if slot is not None and not slot.has_apposition and slot.start >= end:
            pieces += [text[end : slot.start], general]
            end = slot.end
    return "".join([*pieces, text[end:]])
