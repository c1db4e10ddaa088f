"""Multi-hop claims written from the knowledge base itself: no annotation is needed.

A chain of documents is walked along mentions; the claim is a sentence of the first document in
which the mention of the next one is replaced by a description taken from that document's own
opening sentence, nested for more hops.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from training.mentions import Mention, MentionIndex, base_title

_DEFINITION = re.compile(r"\b(?:is|was|are|were) ((?:an?|the|one of) .+)", re.DOTALL)
_END = re.compile(r"[;.](?:\s|$)|, (?:and|but|which|who|where|while)\b")
_PARENTHESIS = re.compile(r"\s*\([^()]*\)")
_MAX_DESCRIPTION = 14  # words


@dataclass(frozen=True, slots=True)
class SyntheticClaim:
    """A claim with its gold chain; link ``i`` is the sentence that leads to document ``i + 1``."""

    claim: str
    chain: tuple[tuple[str, int], ...]


class ClaimWriter:
    """Writes claims over a corpus held as ``title -> sentences``.

    Parameters
    ----------
    corpus
        The documents to write about.
    seed
        The same seed and corpus give the same claims.
    """

    def __init__(self, corpus: Mapping[str, Sequence[str]], seed: int = 0) -> None:
        self._corpus = corpus
        self._titles = list(corpus)
        self._mentions = MentionIndex(corpus)
        self._random = random.Random(seed)

    def claims(self) -> Iterator[SyntheticClaim]:
        """Yield claims of two to four documents, without end."""
        while True:
            start = self._random.choice(self._titles)
            length = self._random.choices((2, 3, 4), (5, 3, 2))[0]
            found = self._chain(start, length)
            if found is not None:
                yield found

    def links(self, title: str) -> list[tuple[int, Mention]]:
        """Return (sentence index, mention) for every mention of another document in `title`."""
        return [
            (index, mention)
            for index, sentence in enumerate(self._corpus[title][:8])
            for mention in self._mentions.find(sentence)
            if mention.title != title and base_title(mention.title) != base_title(title)
        ]

    def _chain(self, start: str, length: int) -> SyntheticClaim | None:
        seen, title = {start}, start
        steps: list[tuple[str, int, Mention]] = []
        while len(steps) < length - 1:
            choices = [
                (index, mention)
                for index, mention in self.links(title)
                if mention.title not in seen and self._describe(mention.title)
            ]
            if not choices:
                break
            index, mention = self._random.choice(choices)
            steps.append((title, index, mention))
            seen.add(mention.title)
            title = mention.title
        if not steps:
            return None
        return self._write(steps, title)

    def _write(self, steps: list[tuple[str, int, Mention]], last: str) -> SyntheticClaim | None:
        description = self._describe(last)
        for title, index, mention in reversed(steps[1:]):
            sentence = self._corpus[title][index]
            clause = self._shorten(sentence, mention, description)
            clause = re.sub(re.escape(base_title(title)), "it", clause)
            description = f"{self._describe(title)} ({clause.rstrip('.')})"
        title, index, mention = steps[0]
        sentence = self._corpus[title][index]
        claim = self._shorten(sentence, mention, description)
        if base_title(title).casefold() not in claim.casefold():
            claim = f"{base_title(title)}: {claim}"
        leaked = any(base_title(t).casefold() in claim.casefold() for t, _, _ in steps[1:])
        if leaked or base_title(last).casefold() in claim.casefold() or len(claim) > 400:
            return None
        return SyntheticClaim(claim, (*((t, i) for t, i, _ in steps), (last, 0)))

    def _shorten(self, sentence: str, mention: Mention, description: str) -> str:
        """Replace the mention, drop parentheses, and keep the clause around it."""
        before = _PARENTHESIS.sub("", sentence[: mention.start])
        after = _PARENTHESIS.sub("", sentence[mention.end :])
        words = after.split(" ")
        if len(words) > 16:
            after = " ".join(words[: self._random.randint(6, 16)]).rstrip(",;")
        before = re.sub(r"\b(?:an?|the) $", "", before)
        return (before + description + after).strip()

    def _describe(self, title: str) -> str:
        """Return "an American comedian" for Seth Meyers, or "" where nothing fits."""
        sentences = self._corpus[title]
        if not sentences:
            return ""
        text = _PARENTHESIS.sub("", sentences[0])
        found = _DEFINITION.search(text)
        if found is None:
            return ""
        phrase = _END.split(found.group(1))[0].split(" ")[:_MAX_DESCRIPTION]
        description = " ".join(phrase).rstrip(" ,.")
        names = base_title(title).casefold()
        return "" if len(phrase) < 3 or names in description.casefold() else description
