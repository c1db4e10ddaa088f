"""Sources and claims of our own for the tests of citations."""

from admiral.citations.citation_records import Citation, CitedClaim
from admiral.sources import Passage, Source

BRIDGE = Source(
    "https://news.example.org/bridge",
    "Eastern Bridge",
    "The Eastern Bridge was opened on 4 May 1932 by Governor Ada Lane. It is 320 metres long and "
    "crosses the river Orr near the town of Belmar. The bridge was built by Harwood and Sons over "
    "three years and cost two million pounds. It was closed for repairs in 1978 and was reopened "
    "in 1981 with a new deck of steel. About 12,000 vehicles cross it each day.",
)
HARBOUR = Source(
    "https://port.example.org/harbour",
    "Belmar Harbour",
    "The harbour of Belmar lies at the mouth of the river Orr. It was enlarged in the 1950s, when "
    "the fishing fleet moved there from the old docks. Ferries leave for the islands twice a day "
    "in summer and once a day in winter. The lighthouse at its entrance was designed by Ida Morton "
    "and was first lit in 1911. The harbour museum shows nets, boats and the tools of the trade.",
)
CLAIM = CitedClaim(
    "1",
    "The Eastern Bridge, which crosses the Orr, was opened in 1932 by Ada Lane.",
    page="Belmar",
    section=("Transport", "Bridges"),
    before="Belmar has two bridges. The older one is of stone.",
    citations=(Citation(BRIDGE.url, name="1"),),
)


def passage(text, number=0, title="Eastern Bridge"):
    return Passage(BRIDGE.url, title, number, 0, len(text), text)


def claim(text, *urls, id="1", page=""):
    return CitedClaim(id, text, page=page, citations=tuple(map(Citation, urls)))
