"""The text of templates within a sentence: quantities, dates, foreign words, quotations.

Of a template that is not listed, the arguments without names are kept, since they are what most
show; those with names alone are boxes, notices and layout.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from admiral.citations.extract.names import NAMES, names_of
from admiral.citations.extract.wikitext_nodes import Node, Template, plain_text

_LAST, _FIRST, _SILENT, _SHIPS, _QUOTING = (
    frozenset(names_of("inline", key)) for key in ("last", "first", "silent", "ships", "quotations")
)
_FIXED, _CURRENCIES = (
    {name: text for text, names in NAMES["inline"][key].items() for name in names}
    for key in ("fixed", "currencies")
)
_MONTHS = names_of("inline", "months")
_SILENT_BEGINNINGS = ("infobox", "navbox", "sidebar", "use ", "ipa", "pp-", "wikt", "#", "subst:")
# Arguments that set how a template looks.
_OPTION = re.compile(
    r"(?:left|right|center|centre|top|bottom|none|yes|no|y|n|[a-z]{2}|#[0-9a-f]{3,8}"
    r"|[\d.]+(?:px|em|ex|%)|https?:\S*|\S+\.(?:jpe?g|png|svg|ogg|webm|gif))?",
    re.IGNORECASE,
)
_COUNTRY = re.compile(r"[A-Z]{3}")
_SIDES = frozenset({"left", "right", "center"})  # {{rquote|right|...}}
_LONGEST_CURRENCY = 4  # characters of its name


def quoted(template: Template) -> Sequence[Node] | None:
    """Return the text of a template that shows a quotation as a paragraph; None for others."""
    if template.name not in _QUOTING:
        return None
    parameters = template.parameters
    first = "2" if template.text("1") in _SIDES else "1"
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
        # With its number, unless there is a third parameter.
        has_number = len(unnamed) == 2 and plain_text(unnamed[1])
        number: list[Node] = [" (", *unnamed[1], ")"] if has_number else []
        return [f"{template.written} ", *unnamed[0], *number] if unnamed else []
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
    year, rest = values[0], [value for value in values[1:3] if value.isdecimal()]
    if not rest or not 1 <= int(rest[0]) <= len(_MONTHS):
        return year
    month = _MONTHS[int(rest[0]) - 1]
    if len(rest) == 1:
        return f"{month} {year}"
    if template.text("df").startswith("y"):
        return f"{int(rest[1])} {month} {year}"
    return f"{month} {int(rest[1])}, {year}"


def _as_of(values: Sequence[str], template: Template) -> str:
    if alt := template.text("alt"):
        return alt
    since = "Since" if "since" in template.parameters else "As of"
    start = since.lower() if "lc" in template.parameters else since
    written = _date(values, Template("", {"df": ["y"]}))
    return f"{start} {written}"


def _fraction(values: Sequence[str], template: Template) -> str:
    if len(values) == 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    return "/".join(values) if len(values) > 1 else f"1/{''.join(values)}"


def _number(values: Sequence[str], template: Template) -> str:
    """Return what ``{{val}}`` shows: a number, its uncertainty, a power of ten and a unit."""
    text = template.text
    number = "".join(values[:1])
    if len(values) > 1 and values[1]:
        number += f"±{values[1]}" if len(values) == 2 else f" (+{values[1]} −{values[2]})"
    if power := text("e") or text("10^"):
        number = f"{number}×10^{power}" if number else f"10^{power}"
    unit = text("u") or text("ul")
    if per := text("up") or text("upl"):
        unit = f"{unit}/{per}"
    return f"{text('p')}{number}{' ' if unit else ''}{unit}{text('s')}"


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


_FUNCTIONS: dict[str, Callable[[Sequence[str], Template], str]] = {
    **{"convert": _convert, "date": _date, "as_of": _as_of, "fraction": _fraction},
    **{"number": _number, "age": _age, "ship_class": _ship_class},
    "born": lambda values, template: _date(values[:3], template),
    "circa": lambda values, _: "c. " + " – c. ".join(values[:2]),
    "power": lambda values, _: f"×10^{''.join(values[:1])}",
    "old_style_date": _old_style_date,
    "ship": lambda values, _: " ".join(filter(None, values[:2])),
    "chem": lambda values, _: "".join(values),
    "reign": lambda values, _: " – ".join(values),
}
_WRITTEN = {
    name: write for key, write in _FUNCTIONS.items() for name in names_of("inline", "written", key)
}
_POWERS = names_of("inline", "written", "power")
