"""A small in-memory knowledge base of invented documents."""

import numpy as np

from admiral.records import Document

DOCUMENTS = [
    Document(
        "Lantern Night",
        (
            "Lantern Night is a 1988 Welsh film about a miller, directed by Ada Brook.",
            "It was shot in Porthgain in 1987 and was distributed by Halo Pictures.",
            "The film stars Ivor Pryce and Mona Reed.",
        ),
    ),
    Document(
        "Ada Brook",
        (
            "Ada Jane Brook (born March 3, 1941) is a Welsh film director and painter.",
            "She was born in Porthgain and studied under Ivor Pryce.",
            "In 1990, she won the Gull Prize.",
        ),
    ),
    Document(
        "Porthgain",
        (
            "Porthgain is a small harbour village in the west of Wales.",
            "It lies near the slate quarries and has 211 inhabitants.",
        ),
    ),
    Document(
        "Ivor Pryce",
        (
            "Ivor Pryce (1901 – 12 May 1980) was a Scottish actor and teacher.",
            "He was married to Ada Brook and lived in Porthgain.",
        ),
    ),
    Document(
        "Halo Pictures", ("Halo Pictures is an Irish film company founded in 1971 by Mona Reed.",)
    ),
    Document("Mona Reed", ("Mona Reed is a Canadian actress who won the Gull Prize in 1979.",)),
    Document("Gull Prize", ("The Gull Prize is a yearly award for films shot near the sea.",)),
    Document("Empty", ()),
    Document("List of films", ("Lantern Night is a film in it.",)),
]


class InMemoryDocuments:
    """In-memory implementation of the knowledge base interface that synthesis needs."""

    def __init__(self, documents=DOCUMENTS):
        self.documents = list(documents)
        self._rows = {d.title: row for row, d in enumerate(self.documents)}

    def rows(self):
        return np.arange(len(self.documents))

    def row(self, title):
        return self._rows.get(title)

    def title(self, row):
        return self.documents[row].title

    def complete(self, prefix):
        return ((t, r) for t, r in sorted(self._rows.items()) if t.startswith(prefix))

    def document_at(self, row):
        return self.documents[row]
