"""The text of templates within a sentence: quantities, dates, foreign words, quotations.

Of a template that is not listed, the arguments without names are kept, since they are what most
show; those with names alone are boxes, notices and layout.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from admiral.citations.extract.wikitext_nodes import Node, Template, plain_text
from proofs.logic.words import word_list

# The whole text is that of one parameter: the last, or the first.
_LAST = word_list(
    "lang transl transliteration nowrap nobr nobreak small smaller big larger huge nobold noitalic "
    "em strong smallcaps smcaps sc sc1 sic langx color colour fontcolor mono resize font kbd samp "
    "code vec var mvar math tq tqi u b i strike s underline italics bold bolditalic lower big"
) | {
    *("language with name", "text", "small caps", "font color", "font colour", "colored text"),
    *("no wrap", "no italic", "no bold", "color text", "monospace", "resize text", "fine print"),
}
_FIRST = word_list(
    "ill abbr abbrv nihongo nihongo2 lang-fr lang-de lang-es lang-la lang-ru lang-el flag "
    "flagcountry flagu hlist nws-link formatnum keypress tooltip hover title anchor vanchor "
    "circa-text sort dts avoid wrap zh korean script stn rws lrt lus metro ferry tram chem2 "
    "country station"
) | {
    *("avoid wrap", "visible anchor", "not a typo", "as written", "proper name", "flag link"),
    *("interlanguage link", "interlanguage link multi"),
}
# What stands in the text but says nothing: boxes, notices, pronunciations, remarks of editors.
_SILENT = word_list(
    "coord coords main see further about hatnote for redirect distinguish other portal commons "
    "wiktionary taxobox speciesbox authority defaultsort toc tocright reflist notelist clear audio "
    "listen respell ipa pron pronunciation ipac-en ipac-fr flagicon flagdeco icon rp when who whom "
    "which where clarify dubious vague why how anchor refn update inline specify weasel synthesis "
    "discuss sic? refbegin refend noteref portal-inline sister stub wikisource gutenberg official"
) | {
    *("short description", "see also", "authority control", "by whom", "according to whom"),
    *("page needed", "clarification needed", "original research", "relevance", "if pagename"),
    *("webarchive", "in lang", "main article", "other uses", "use dmy dates", "use mdy dates"),
    *("full citation needed", "non sequitur", "definition needed", "time needed", "pp-semi"),
}
_SILENT_BEGINNINGS = ("infobox", "navbox", "sidebar", "use ", "ipa", "pp-", "wikt", "#", "subst:")
# Arguments that set how a template looks.
_OPTION = re.compile(
    r"(?:left|right|center|centre|top|bottom|none|yes|no|y|n|[a-z]{2}|#[0-9a-f]{3,8}"
    r"|[\d.]+(?:px|em|ex|%)|https?:\S*|\S+\.(?:jpe?g|png|svg|ogg|webm|gif))?",
    re.IGNORECASE,
)
_COUNTRY = re.compile(r"[A-Z]{3}")
_SHIPS = word_list(
    "uss hms hmas hmcs hmnzs hmt ss ms mv rms mt rv ins usns usat uscgc usrc css sms smu hnoms "
    "hdms hswms hnlms jds js rfa pns ara arc bap nrp orp tcg ssv mf my sy gts tss psn"
)
_QUOTING = word_list(
    "quote blockquote cquote quotation bquote rquote pquote quotebox zitat cita"
) | {
    *("quote box", "block quotation", "pull quote", "centered pull quote", "quote frame"),
    *("citation", "citation bloc", "citation longue", "citazione", "citat", "citaat", "sitat"),
}
_SIDES = frozenset({"left", "right", "center"})  # {{rquote|right|...}}
_CURRENCIES = {
    "us$": "US$", "usd": "US$", "a$": "A$", "aud": "A$", "c$": "C$", "cad": "C$", "€": "€",
    "euro": "€", "eur": "€", "gbp": "£", "£": "£", "pound sterling": "£", "inr": "₹", "¥": "¥",
    "php": "₱", "hkd": "HK$", "twd": "NT$", "ntd": "NT$", "sgd": "S$", "mxn": "MX$", "brl": "R$",
    "rub": "₽", "try": "₺", "thb": "฿", "ils": "₪", "zar": "R", "nok": "NOK ", "dkk": "DKK ",
    "pln": "PLN ", "czk": "CZK ", "huf": "HUF ", "sfr": "CHF ", "iep": "IR£", "dm": "DM ",
    "jpy": "¥", "cny": "CN¥", "chf": "CHF ", "nzd": "NZ$", "sek": "SEK ", "krw": "₩",
}  # fmt: skip
_LONGEST_CURRENCY = 4  # characters of its name
_POWERS = ("e", "10^", "x10^", "exp")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_FIXED = {
    "'": "'", "'s": "'s", "' \"": "' \"", "!": "|", "=": "=", "-": "", "ndash": "–", "en dash": "–",
    "–": "–", "mdash": "—", "em dash": "—", "—": "—", "snd": " – ", "spnd": " – ", "spaced ndash":
    " – ", "endash": "–", "emdash": "—", "dash": "–", "spaced en dash": " – ", "spndash": " – ",
    "spaced endash": " – ", "spaced em dash": " — ", "spaced emdash": " — ", "smd": " — ",
    "snds": " – ", "nbndash": "–", "hyphen": "-", "nbhyph": "-", "nbsp": " ", "space": " ",
    "pipe": "|", "·": "·", "dot": "·", "•": "•", "bullet": "•",
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
    first = "2" if plain_text(parameters.get("1")) in _SIDES else "1"
    return parameters.get("text") or parameters.get("quote") or parameters.get(first) or ()


def counts(template: Template) -> bool:
    """Return whether a template writes a number or a date, which joins no digit before it."""
    return template.name in _WRITTEN and template.name not in _POWERS


def inline_text(template: Template) -> Sequence[Node] | None:
    """Return what a template says within a sentence; None for one that is not known."""
    name, parameters, unnamed = template.name, template.parameters, template.unnamed
    if name in _FIXED:
        return [_FIXED[name]]
    if name in _CURRENCIES:
        return [_CURRENCIES[name], *unnamed[0]] if unnamed else []
    if len(name) <= _LONGEST_CURRENCY and unicodedata.category(name[-1:] or " ") == "Sc":
        return [template.written, *unnamed[0]] if unnamed else []
    if name in _WRITTEN:
        return [_WRITTEN[name]([plain_text(value) for value in unnamed], template)]
    for prefix in ("formatnum:", "lc:", "uc:", "ucfirst:"):
        if name.startswith(prefix):
            return [name.removeprefix(prefix)]
    if name in _SHIPS:
        return [f"{template.written} ", *_ship(unnamed)] if unnamed else []
    if name in _LAST or name.startswith("script/"):
        return unnamed[-1] if unnamed else parameters.get("text", [])
    if name in _FIRST or name.startswith(("lang-", "nihongo")):
        return parameters.get("lt") or (unnamed[0] if unnamed else [])
    if name in _SILENT or name.startswith(_SILENT_BEGINNINGS):
        return []
    if not parameters and _COUNTRY.fullmatch(template.written):
        return [template.written]
    return None


def visible_arguments(template: Template) -> Sequence[Node]:
    """Return the unnamed arguments of a template that is not known.

    Arguments that look like options, such as a width or a code of a language, are left out.
    """
    shown: list[Node] = []
    for value in template.unnamed:
        if not _OPTION.fullmatch(plain_text(value)):
            shown.extend([" ", *value] if shown else value)
    return shown


def _ship(unnamed: Sequence[Sequence[Node]]) -> Sequence[Node]:
    """Return the name of a ship, with its number unless the third parameter says otherwise."""
    name, *others = unnamed
    if len(others) != 1 or not plain_text(others[0]):
        return name
    return [*name, " (", *others[0], ")"]


def _convert(values: Sequence[str], template: Template) -> str:
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
    """Return what ``{{val}}`` shows: a number, its uncertainty, a power of ten and a unit."""

    def named(*names: str) -> str:
        return next(filter(None, (plain_text(template.parameters.get(n)) for n in names)), "")

    number = "".join(values[:1])
    if len(values) > 1 and values[1]:
        number += f"±{values[1]}" if len(values) == 2 else f" (+{values[1]} −{values[2]})"
    if power := named("e", "10^"):
        number = f"{number}×10^{power}" if number else f"10^{power}"
    unit = named("u", "ul")
    if per := named("up", "upl"):
        unit = f"{unit}/{per}"
    return f"{named('p')}{number}{' ' if unit else ''}{unit}{named('s')}"


def _power(values: Sequence[str], template: Template) -> str:
    return f"×10^{''.join(values[:1])}"


def _old_style_date(values: Sequence[str], template: Template) -> str:
    date, year, old = (*values, "", "", "")[:3]
    return f"{date}{f' [O.S. {old}]' if old else ''} {year}".strip()


def _age(values: Sequence[str], template: Template) -> str:
    """Return the years between two dates; nothing for an age today."""
    numbers = [int(value) for value in values if value.isdecimal()]
    if len(numbers) != 6:
        return ""
    return str(numbers[3] - numbers[0] - (numbers[4:] < numbers[1:3]))


def _ship_class(values: Sequence[str], template: Template) -> str:
    return f"{values[0]}-class {' '.join(values[1:2])}".strip() if values else ""


_WRITTEN: dict[str, Callable[[Sequence[str], Template], str]] = {
    **dict.fromkeys(("convert", "cvt", "conv"), _convert),
    **dict.fromkeys(("start date", "end date", "date", "film date", "release date"), _date),
    **dict.fromkeys(("start date and age", "birth date", "death date", "bya", "dob"), _born),
    **dict.fromkeys(("birth date and age", "death date and age", "birth-date"), _born),
    **dict.fromkeys(("as of", "asof"), _as_of),
    **dict.fromkeys(("frac", "sfrac", "fraction"), _fraction),
    **dict.fromkeys(("circa", "c.", "ca"), _circa),
    **dict.fromkeys(("val", "nts", "num"), _number),
    **dict.fromkeys(_POWERS, _power),
    **dict.fromkeys(("oldstyledate", "oldstyledatedy", "old style date"), _old_style_date),
    **dict.fromkeys(("age", "age in years"), _age),
    **dict.fromkeys(("sclass", "sclass2"), _ship_class),
    "ship": lambda values, _: " ".join(filter(None, values[:2])),
    "chem": lambda values, _: "".join(values),
    **dict.fromkeys(("reign", "r.", "fl.", "floruit"), lambda values, _: " – ".join(values)),
}
