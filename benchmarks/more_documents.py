"""A corpus of any size with the statistics of a real one, to measure growth with."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from admiral.records import Document

# Parts of titles are mixed; one that is there already gets a number, as namesakes do.
_NUMBERED = "{} ({})"


def enlarged(documents: Sequence[Document], count: int, seed: int = 0) -> Iterator[Document]:
    """Yield the documents, then made ones, `count` in all; only the first `count` if it is less.

    A made document has the first words of one title and the last of another, as many sentences as
    a third document, each drawn from all sentences by its document. So words, lengths and names
    are as frequent as they were, and every title is a new one.

    Raises
    ------
    ValueError
        If documents must be made and there are none to make them of.
    """
    yield from documents[:count]
    if count <= len(documents):
        return
    if not any(document.sentences for document in documents):
        raise ValueError("no documents with sentences to make others of")
    rng = random.Random(seed)
    # A hash takes a tenth of the memory of a title; a rare false hit costs a number in brackets.
    taken = {hash(document.title) for document in documents}
    for number in range(count - len(documents)):
        head = rng.choice(documents).title.split()
        tail = rng.choice(documents).title.split()
        title = " ".join([*head[: (len(head) + 1) // 2], *tail[len(tail) // 2 :]])
        if hash(title) in taken:
            title = _NUMBERED.format(title, number)
        taken.add(hash(title))
        sentences = []
        for _ in rng.choice(documents).sentences:
            others: tuple[str, ...] = ()
            while not others:
                others = rng.choice(documents).sentences
            sentences.append(rng.choice(others))
        yield Document(title, tuple(sentences))
