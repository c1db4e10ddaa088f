"""The same value in many forms: dates, times of day, numbers, amounts of money, quantities.

A function draws a value and returns its forms by the names that the templates of
``world_kinds.yaml`` use: ``said`` for the evidence, ``right`` and ``wrong`` for claims, and others.
A list of forms stands for any of them. The wordings are in ``world_forms.yaml``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from proofs.logic.words import MONTHS
from training.data.world_values import number_words, ordinal, ordinal_digits, roman, spelt

Forms = dict[str, "str | list[str]"]
_WORDINGS = yaml.safe_load(Path(__file__).with_name("world_forms.yaml").read_text(encoding="utf-8"))


def number_forms(number: int) -> list[str]:
    """Return a whole number in digits and, if that is short, in words."""
    forms = [f"{number:,}", str(number)]
    if number < 100 or len(str(number).rstrip("0")) <= 2:
        forms += [spelt(number)] * 2
    if 1000 < number < 10_000 and number % 100 == 0 and number % 1000:
        forms.append(f"{spelt(number // 100)} hundred")
    if number in (24, 36, 48, 60):
        forms.append(f"{spelt(number // 12)} dozen")
    return forms


def _all_forms(
    form: Callable[..., list[str]], own: Sequence[Any], others: Iterable[Sequence[Any]]
) -> Forms:
    """Return the forms of a value, and of others as wrong ones."""
    right = form(*own)
    return {
        "said": right,
        "right": right,
        "wrong": [text for each in others for text in form(*each)],
    }


def _worded(name: str, **values: Any) -> list[str]:
    return [template.format(**values) for template in _WORDINGS[name]]


def dates(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return a day in many forms, and others that differ in the day, the month or the year."""
    day, month, year = rng.randint(2, 28), rng.randint(1, 12), rng.randint(1880, 2023)
    changes = [
        (day % 28 + 1, month, year), (day, month % 12 + 1, year), (day, (month + 6) % 12 + 1, year),
        (day, month, year + rng.choice((-1, 1, 10))), ((day + 9) % 28 + 1, month, year),
    ]  # fmt: skip
    return _all_forms(_date_forms, (day, month, year), changes)


def _date_forms(day: int, number: int, year: int) -> list[str]:
    values = {"day": day, "number": number, "year": year, "month": MONTHS[number - 1]}
    values |= {"nth": ordinal_digits(day), "ordinal": ordinal(day), "roman": roman(number)}
    return [
        *_worded("date", **values),
        *(_worded("date_in_digits", **values) if day > 12 else ()),
    ]


def clock(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return a time of day on the clock of 24 and of 12 hours."""
    hour, minute = rng.choice((*range(1, 12), *range(13, 24))), rng.choice((0, 15, 30, 45, 10, 25))
    # 14:30 is not 4:30 p.m., nor 2:30 a.m.
    other_minute = (minute + rng.choice((15, 30))) % 60
    hours = [(hour + 12) % 24, (hour + 2) % 24, (hour + 10) % 24, (hour + 1) % 24]
    changes = [*((h, minute) for h in hours if h % 12), (hour, other_minute)]
    return _all_forms(_clock_forms, (hour, minute), changes)


def _clock_forms(hour: int, minute: int) -> list[str]:
    short, half = hour % 12, "p.m." if hour > 12 else "a.m."
    values = {"hour": hour, "minute": minute, "short": short, "half": half}
    forms = _worded("clock", **values, bare_half=half.replace(".", ""))
    spoken = _WORDINGS["spoken_clock"].get(minute)
    if spoken and (short < 11 or minute < 45):
        text = spoken.format(hour=spelt(short), next=spelt(short % 12 + 1))
        part = "in the afternoon" if 12 <= hour < 18 else "in the evening"
        part = "at night" if hour < 4 or hour > 21 else "in the morning" if hour < 12 else part
        forms += [f"{text} {part}"] * 2
    return forms


def counts(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return a number in digits and words, and others with its digits exchanged, and the like."""
    number = rng.choice(
        (
            rng.randint(13, 99),
            rng.choice((24, 36, 48, 60)),
            rng.randint(11, 98) * 100,
            rng.randint(2, 90) * 1000,
            rng.randint(1001, 99_999),
            rng.randint(2, 9) * 100,
        )
    )
    digits = str(number)
    others = [
        int(digits[1] + digits[0] + digits[2:]),
        number * 10,
        number + 10 ** (len(digits) - 1),
    ]
    others += [number + 10 ** max(len(digits) - 2, 0), number + 10 * rng.randint(1, 3)]
    return _all_forms(number_forms, [number], [[n] for n in others if n > 9 and n != number])


def scales(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return a large amount with the word of its scale, and others a thousand times as large."""
    tenths = rng.choice((rng.randint(11, 99), rng.randint(2, 95) * 10))
    size = rng.choice((10**5, 10**5, 10**8))
    number = tenths * size
    others = [number // 1000, number * 1000, number * 10, number // 10, number + 10 * size]
    return _all_forms(_scale_forms, [number], [[n] for n in others if 10**3 < n < 10**13])


def _scale_forms(number: int) -> list[str]:
    forms = [f"{number:,}"] if number < 10**10 else []
    if 10**8 <= number < 10**12:
        forms += [f"{number / 10**9:g} billion", f"{number / 10**9:g}bn"]
    if 10**5 <= number <= 10**11:
        forms += [f"{number / 10**6:,.10g} million"] * 2
    if 10**3 < number < 10**8 and number % 100 == 0:
        forms += [f"{number / 1000:,.10g} thousand"]
    if 10**9 <= number < 10**12 and number % 10**9 == 0:
        forms += [f"{number // 10**9:,} thousand million"]
    if number >= 10**12:
        forms += [f"{number / 10**12:g} trillion", f"{number // 10**9:,} billion"]
    return forms


def currencies(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return an amount of money, and the same number in another currency."""
    own, other = rng.sample(_WORDINGS["currencies"], 2)
    number = rng.choice(
        (rng.randint(2, 95) * 10**5, rng.randint(2, 90) * 10**6, rng.randint(3, 99) * 10)
    )
    others = [(number, other), (number, other), (number * rng.choice((2, 3, 10)), own)]
    return _all_forms(_money_forms, (number, own), others)


def _money_forms(number: int, currency: Sequence[str]) -> list[str]:
    word, sign, code = currency
    values = {"n": number, "m": number / 10**6, "word": word, "sign": sign, "code": code}
    forms = _worded("money", **values)
    if number >= 10**6:
        forms += _worded("millions", **values)
    elif number < 100:
        forms += [f"{spelt(number)} {word}"]
    return forms


def quantities(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return a quantity in two units, and the same number in a wrong one."""
    dimension, names = options.get("units", "speed"), options.get("in", "").split()
    if dimension == "speed":
        unit, other = rng.sample(_WORDINGS["speeds"], 2)
        number = rng.choice((20, 30, 40, 50, 60, 80, 90, 110))
        second = number + rng.choice((10, 20))
        others = [(number, other), (number, other), (second, unit)]
        return _all_forms(lambda n, unit: [f"{n} {name}" for name in unit], (number, unit), others)
    ladder = _WORDINGS["units"][dimension]
    name, short, size = rng.choice([row for row in ladder if row[1] in names])
    number = rng.choice((2, 3, 4, 5, 6, 8, 12, 15, 20, 25, 30, 40, 60, 75, 120, 150, 250, 400, 600))
    amount = number * size
    right = _quantity_forms(amount, ladder)
    wrong = [f"{number} {text}" for row in ladder if row[1] != short for text in row[:2]] * 2
    wrong += _quantity_forms(amount * rng.choice((2, 3, 10)), ladder)
    said = [f"{number} {name}"] * 2 + [f"{number} {short}"]
    return {"said": said, "right": right, "wrong": [form for form in wrong if form not in right]}


def _quantity_forms(amount: int, ladder: Sequence[tuple[str, str, int]]) -> list[str]:
    forms = []
    for name, short, size in ladder:
        number = amount / size
        # Readers convert to a number that is easily written.
        if number != 1 and 0.1 < number < 10**5 and round(number, 2) == number:
            text = f"{number:,.10g}"
            forms += [f"{text} {name}", f"{text} {short}"]
            if number == round(number) and number < 100:
                forms.append(f"{number_words(round(number))} {name}")
    return forms


def ranks(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return an ordinal, and the number of a king, in words, digits and Roman numerals."""
    number = rng.randint(6, 24)
    others = [[n] for n in (number - 1, number + 1, number + 2, number - 2, number + 10) if n > 3]
    kings = _all_forms(_king_forms, [number], others)
    forms = _all_forms(lambda n: [ordinal(n), ordinal_digits(n)], [number], others)
    return forms | {
        "numeral": kings["said"],
        "numeral_right": kings["right"],
        "numeral_wrong": kings["wrong"],
    }


def _king_forms(number: int) -> list[str]:
    return [roman(number), f"the {ordinal(number).capitalize()}"]


def _century(number: int, end: str = "") -> list[str]:
    return [f"in the {form} century{end}" for form in (ordinal(number), ordinal_digits(number))]


def eras(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return a year, a decade or a century, and times that contain it, exclude it or lie in it."""
    if rng.random() < 0.15:
        century = rng.randint(2, 8)
        year, other = century * 100 - rng.randint(10, 90), century % 8 + 1
        wrong = [f"in AD {year}", *_century(other, " BC"), *_century(century, " AD")]
        return {
            "said": [f"in {year} BC"],
            "right": _century(century, " BC"),
            "wrong": wrong,
            "unknown": f"in May of {year} BC",
        }
    year = rng.randint(16, 19) * 100 + rng.randint(12, 88)
    decade = year // 10 * 10
    # The 1900s may be a decade or a century.
    far = rng.choice([n for n in range(decade - 30, decade + 40, 10) if n != decade and n % 100])
    century, before = year // 100 + 1, decade // 100 * 100
    names, others = _century(century), [*_century(century + 1), *_century(century - 1)]
    if rng.random() < 0.3:
        right = [f"between {before + 1} and {before + 100}", f"before {before + 150}", *names]
        wrong = [f"in {year - 100}", f"in the {decade - 100}s", f"after {before + 120}", *others]
        return {"said": names, "right": right, "wrong": wrong, "unknown": f"in {year}"}
    said = [f"in the {decade}s", f"in {year}"]
    if century == 20 and decade % 100 > 10:
        said.append(f"in the {spelt(decade % 100).removesuffix('y')}ies of the 20th century")
    said = [rng.choice(said)]
    half, wrong_half = ("first", "second") if year % 100 < 50 else ("second", "first")
    right = [f"between {decade} and {decade + 9}", f"before {decade + 10}", f"after {decade - 1}"]
    right += [f"in the {half} half of the {ordinal_digits(century)} century", *names]
    wrong = [
        f"in {far + rng.randint(1, 8)}",
        f"between {far} and {far + 9}",
        f"before {decade - 1}",
    ]
    wrong += [f"in the {wrong_half} half of the {ordinal_digits(century)} century", *others]
    wrong += [f"after {decade + 12}", f"in the {far}s"]
    unknown = f"in {year}"
    if said == [unknown]:
        right.append(f"in the {decade}s")
        unknown = f"in {rng.choice(MONTHS)} {year}"
    return {"said": said, "right": right, "wrong": wrong, "unknown": unknown}


def synonyms(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return one of some classes of words of the same meaning, and words of the others."""
    own, *others = rng.sample(options["classes"], len(options["classes"]))
    return _all_forms(list, [own], [[other] for other in others])


def cold(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return temperatures below and above zero."""
    number, second = rng.sample(range(3, 32), 2)
    below, warmer = ({"n": n, "words": spelt(n)} for n in (number, second))
    right, above = _worded("cold", **below), _worded("warm", **below)
    wrong = [*_worded("cold", **warmer), *above]
    return {"said": right, "right": right, "wrong": wrong, "below": right, "above": above}


def numbers(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return numbers of which others are sums, differences and multiples, and their neighbours."""
    few, some = rng.sample(range(2, 8), 2)
    total = few + some
    offs = (total + 1, total + 2, few * some)
    size = rng.choice([n for n in range(few + some + 2, 21) if n != 2 * few])
    low, gap = rng.randint(10, 40), rng.randint(2, 9)
    base = rng.choice((20, 40, 60, 80, 120, 150, 200, 300, 500, 800))
    times = rng.choice((2, 3, 4, 5))
    factor = {2: ["twice"], 3: ["three times"], 4: ["four times"], 5: ["five times"]}[times]
    begin, years = rng.randint(1790, 1990), rng.randint(2, 12)
    span = rng.randint(5, 20)
    ten = rng.choice((3, 4, 5, 6, 7, 8, 12, 15, 25, 40)) * 10 ** rng.choice((2, 3))
    gaps = {1: ["one year"], 2: ["two years"], 10: ["ten years", "a decade"]}
    years = rng.choice((1, years, years, 10))
    wrong_years = rng.choice(
        [n for n in (years - 1, years + 1, years + 2, 2 * years) if n > 1 and n != years]
    )
    votes = rng.randint(2, 5)
    large = rng.randint(votes + 2, 16)
    return {
        "few": spelt(few), "some": spelt(some), "total": number_forms(total)[1:],
        "off": [form for n in offs if n != total for form in number_forms(n)[1:]],
        "size": spelt(size), "rest": spelt(size - few), "other_rest": spelt(size - few + 1),
        "other_few": spelt(few + 1), "low": str(low), "high": str(low + gap), "gap": str(gap),
        "day_number": str(rng.randint(1, 28)), "age": number_words(rng.randint(21, 38)),
        "below_low": str(max(1, low - 1)),
        "above_high": str(low + gap + rng.randint(1, 9)), "middle": f"{low + gap / 2:g}",
        "base": f"{base}", "times": factor, "product": f"{base * times:,}",
        "not_product": [f"{base / times:,.4g}", f"{base:,}", f"{base * (times + 1):,}"],
        "half": f"{base // 2}", "not_half": [f"{base * 2:,}", f"{base:,}", f"{base // 4}"],
        "year": str(begin), "later": str(begin + years), "earlier": str(begin - years),
        "not_later": [str(begin + wrong_years), str(begin - years), str(begin)],
        "not_earlier": [str(begin - wrong_years), str(begin + years), str(begin)],
        "years": gaps.get(years, [f"{spelt(years)} years", f"{years} years"]),
        "not_years": [f"{spelt(wrong_years)} years", f"{wrong_years} years"],
        "end": str(begin + span), "inside": str(begin + rng.randint(1, span - 1)),
        "after": str(begin + span + rng.randint(1, 9)), "before": str(begin - rng.randint(1, 20)),
        "round": number_forms(ten)[0], "more": f"{ten * 3 // 2:,}", "less": f"{ten // 2:,}",
        "round_more": f"{ten * 3:,}",
        "ayes": spelt(large), "noes": spelt(votes), "ayes_wrong": spelt(large + 1),
        "noes_wrong": [spelt(votes + 1), spelt(large)],
    }  # fmt: skip


def years(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return a year, and others that are near."""
    year = rng.randint(1850, 1980)
    others = [str(year + step) for step in (-30, -10, -4, 5, 12, 40)]
    return {"said": [str(year)], "right": [str(year)], "wrong": others}


def ages(rng: random.Random, options: Mapping[str, Any]) -> Forms:
    """Return the years of a birth and of a deed, and what they say of the age at it."""
    born, age = rng.randint(1850, 1940), rng.choice([n for n in range(22, 79) if n % 10 > 1])
    tens = age // 10 * 10
    other = rng.choice([n for n in range(20, 90, 10) if abs(n - tens) > 10])
    words = {n: f"{number_words(n).removesuffix('y')}ies" for n in (tens, other)}
    above, below = str(tens + rng.choice((15, 20))), str(tens - rng.choice((5, 8)))
    return {
        "born": str(born),
        "done": str(born + age),
        "age": str(age),
        "other_age": str(age + rng.choice((-9, -1, 1, 10))),
        "above": above,
        "below": below,
        "tens": words[tens],
        "other_tens": words[other],
    }


FORMS: dict[str, Callable[[random.Random, Mapping[str, Any]], Forms]] = {
    "dates": dates, "clock": clock, "counts": counts, "scales": scales, "currencies": currencies,
    "quantities": quantities, "ranks": ranks, "eras": eras, "cold": cold,
    "synonyms": synonyms, "numbers": numbers, "years": years, "ages": ages,
}  # fmt: skip
