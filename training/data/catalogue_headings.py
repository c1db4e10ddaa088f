"""Titles as catalogue headings: the last word comes first, as in "Meyers, Seth".

Library catalogues list names in this form. Texts hardly ever do, so that documents of a corpus with
such titles do not name each other: spelling no longer leads from one document to the next.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace

from admiral.retrieval.title_matching import base_title
from training.data.samples import RetrieveSample, Sample


def catalogue_heading(title: str) -> str:
    """Return the catalogue heading of a title: ``Seth Meyers`` -> ``Meyers, Seth``.

    The qualifier stays last: ``The Tonight Show (1954)`` -> ``Show, The Tonight (1954)``. A title
    whose base is one word stays as it is: ``Alien (film)``. Different titles have different
    headings if their words are separated by single spaces and only qualifiers have parentheses.
    """
    base = base_title(title)
    words = base.split()
    if len(words) < 2:
        return title
    qualifier = title[len(base) :]
    return f"{words[-1]}, {' '.join(words[:-1])}{qualifier}"


def with_headings(samples: Iterable[Sample], share: float, seed: int) -> Iterator[Sample]:
    """Yield samples, a random share of those of retrieval with headings as titles.

    A model that is trained on them learns to write titles in the form that the evidence shows. The
    titles of the evidence and of the gold documents are replaced; the texts are unchanged.

    Parameters
    ----------
    samples
        Samples of any task; those of other tasks than retrieval are yielded unchanged.
    share
        Probability that a sample is changed, from 0 to 1.
    seed
        The same seed chooses the same samples.
    """
    rng = random.Random(seed)
    for sample in samples:
        if isinstance(sample, RetrieveSample) and rng.random() < share:
            yield replace(
                sample,
                evidence=tuple((catalogue_heading(title), text) for title, text in sample.evidence),
                gold=tuple(map(catalogue_heading, sample.gold)),
            )
        else:
            yield sample
