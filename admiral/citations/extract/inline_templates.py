"""The text of templates within a sentence: quantities, dates, foreign words, quotations.

A template that is not listed says nothing: most are boxes, notices and layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from admiral.citations.extract.wikitext_nodes import Node, Template, plain_text


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The whole text is that of one parameter: the last, or the one with a number.
_LAST = _words(
    "lang transl transliteration nowrap nobr small big nobold noitalic em strong smallcaps sc sic "
    "interlanguage link vec var mvar math tq tqi u strike s underline italics bold"
) | {"language with name", "interlanguage link multi", "text"}
_FIRST = _words(
    "ill abbr abbrv nihongo nihongo2 ship langx lang-fr lang-de lang-es lang-la lang-ru lang-el "
    "flag flagcountry flagu hlist nws-link formatnum keypress tooltip hover title visible anchor "
    "vanchor circa-text sort dts avoid wrap zh korean script"
) | {"avoid wrap", "visible anchor", "not a typo", "as written", "proper name"}
_QUOTING = frozenset(
    ("quote", "blockquote", "cquote", "quotation", "quote box", "bquote", "block quotation")
)
_CURRENCIES = {
    "us$": "US$", "usd": "US$", "a$": "A$", "aud": "A$", "c$": "C$", "cad": "C$", "€": "€",
    "euro": "€", "eur": "€", "gbp": "£", "£": "£", "pound sterling": "£", "inr": "₹", "¥": "¥",
    "jpy": "¥", "cny": "CN¥", "chf": "CHF ", "nzd": "NZ$", "sek": "SEK ", "krw": "₩",
}  # fmt: skip
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_FIXED = {
    "'": "'", "'s": "'s", "' \"": "' \"", "!": "|", "=": "=", "-": "", "ndash": "–", "en dash": "–",
    "–": "–", "mdash": "—", "em dash": "—", "—": "—", "snd": " – ", "spnd": " – ", "spaced ndash":
    " – ", "nbsp": " ", "space": " ", "pipe": "|", "·": "·", "dot": "·", "•": "•", "bullet": "•",
    "times": "×", "x": "×", "minus": "−", "shy": "", "zwsp": "", "zwj": "", "wbr": "", "clear": "",
    "no": "No.", "numero": "No.", "&": "&", "ditto": "″", "prime": "′", "$": "$", "'-": "'",
    "-'": "'", "okina": "ʻ", "wp": "Wikipedia", "ad": "AD", "bc": "BC", "lbrack": "[", "rbrack":
    "]", "(": "{{", ")": "}}", "percent": "%",
}  # fmt: skip


def quoted(template: Template) -> Sequence[Node] | None:
    """Return the text of a template that shows a quotation as a paragraph; None for others."""
    if template.name not in _QUOTING:
        return None
    parameters = template.parameters
    return parameters.get("text") or parameters.get("quote") or parameters.get("1") or ()


def inline_text(template: Template) -> Sequence[Node]:
    """Return what a template says within a sentence; nothing for unknown ones."""
    name, parameters = template.name, template.parameters
    if name in _FIXED:
        return [_FIXED[name]]
    unnamed = [parameters[key] for key in sorted((k for k in parameters if k.isdigit()), key=int)]
    if name in _CURRENCIES:
        return [_CURRENCIES[name], *unnamed[0]] if unnamed else []
    if name in _WRITTEN:
        return [_WRITTEN[name]([plain_text(value) for value in unnamed], template)]
    for prefix in ("formatnum:", "lc:", "uc:", "ucfirst:"):
        if name.startswith(prefix):
            return [name.removeprefix(prefix)]
    if name in _LAST or name.startswith("script/"):
        return unnamed[-1] if unnamed else parameters.get("text", [])
    if name in _FIRST or name.startswith(("lang-", "nihongo")):
        return unnamed[0] if unnamed else []
    return []


def _convert(values: Sequence[str], template: Template) -> str:
    """Return what ``{{convert}}`` shows of the quantity that it is given."""
    numbers = [value for value in values if value[:1].isdigit() or value[:1] in "-−+."]
    if not values:
        return ""
    if len(values) > 2 and values[1] in ("-", "–", "to", "and", "by", "x", "or", "+/-", "to("):
        joint = {"-": "–", "by": " by ", "x": " × "}.get(values[1], f" {values[1]} ")
        unit = values[3] if len(values) > 3 else ""
        return f"{values[0]}{joint}{values[2]} {_unit(unit)}".strip()
    if len(numbers) == len(values):
        return values[0]
    pairs: list[str] = []
    for number, unit in zip(values[::2], values[1::2], strict=False):
        if number not in numbers or (pairs and not number):
            break
        pairs.append(f"{number} {_unit(unit)}")
        if unit not in ("ft", "lb", "st", "mi", "yd"):  # feet and inches are two pairs
            break
    return " ".join(pairs)


def _unit(unit: str) -> str:
    return {"sqmi": "sq mi", "km2": "km²", "m2": "m²", "m3": "m³", "C": "°C", "F": "°F"}.get(
        unit, unit
    )


def _date(values: Sequence[str], template: Template) -> str:
    """Return a date that is given as year, month and day."""
    if not values or not values[0].isdigit():
        return " ".join(values)
    year, rest = values[0], [value for value in values[1:3] if value.isdigit()]
    if not rest or not 1 <= int(rest[0]) <= len(_MONTHS):
        return year
    month = _MONTHS[int(rest[0]) - 1]
    if len(rest) == 1:
        return f"{month} {year}"
    if plain_text(template.parameters.get("df")).startswith("y"):
        return f"{int(rest[1])} {month} {year}"
    return f"{month} {int(rest[1])}, {year}"


def _as_of(values: Sequence[str], template: Template) -> str:
    if alt := plain_text(template.parameters.get("alt")):
        return alt
    since = "Since" if "since" in template.parameters else "As of"
    start = since.lower() if "lc" in template.parameters else since
    written = _date(values, Template("", {"df": ["y"]}))
    return f"{start} {written}"


def _fraction(values: Sequence[str], template: Template) -> str:
    if len(values) == 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    return "/".join(values) if len(values) > 1 else f"1/{''.join(values)}"


def _circa(values: Sequence[str], template: Template) -> str:
    return "c. " + " – c. ".join(values[:2])


def _born(values: Sequence[str], template: Template) -> str:
    return _date(values[:3], template)


def _number(values: Sequence[str], template: Template) -> str:
    unit = plain_text(template.parameters.get("u") or template.parameters.get("ul"))
    return " ".join(filter(None, [*values[:1], unit]))


_WRITTEN: dict[str, Callable[[Sequence[str], Template], str]] = {
    **dict.fromkeys(("convert", "cvt", "conv"), _convert),
    **dict.fromkeys(("start date", "end date", "date", "film date", "release date"), _date),
    **dict.fromkeys(("start date and age", "birth date", "death date", "bya", "dob"), _born),
    **dict.fromkeys(("birth date and age", "death date and age", "birth-date"), _born),
    **dict.fromkeys(("as of", "asof"), _as_of),
    **dict.fromkeys(("frac", "sfrac", "fraction"), _fraction),
    **dict.fromkeys(("circa", "c.", "ca"), _circa),
    **dict.fromkeys(("val", "nts", "num"), _number),
    **dict.fromkeys(("reign", "r.", "fl.", "floruit"), lambda values, _: " – ".join(values)),
}
