"""Pages of wikitext of any length."""

_COPY = "https://web.archive.org/web/20100101/https://example.org/a/{n}"
_UNIT = (
    "== Part {n} ==\n'''Item {n}''' is a [[thing|small thing]] of {{{{convert|5|km|mi}}}} in "
    '[[Town]].<ref name="a{n}">{{{{cite web|url=https://example.org/a/{n}|title=A title {n}'
    f"|date=2010-02-03|publisher=The Paper|access-date=1 May 2011|archive-url={_COPY}}}}}}}}}"
    '</ref> It won the [[prize]] in 1995.<ref name="a{n}" /><ref>[https://example.com/x{n} Title '
    "of x]. Retrieved 2012.</ref>{{{{failed verification|date=May 2014}}}} Some more text without "
    "any mark follows here, so that the page is mostly prose, as real pages are, with commas and "
    "such things as links to [[Paris]], [[London]] and [[Rome|the city]].\n\n"
)


def long_page(characters):
    """Return a page of about so many characters, dense with references."""
    size = len(_UNIT.format(n=1000))
    return "".join(_UNIT.format(n=number) for number in range(characters // size))
