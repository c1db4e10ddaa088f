"""Numbers in English words."""

_NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
UNITS, TENS = _NAMES.split()[:20], _NAMES.split()[20:]


def spelled(number, joint=" "):
    """Return a number in words, with a joint between tens and units."""
    for scale, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand")):
        if number >= scale:
            rest = f" {spelled(number % scale, joint)}" if number % scale else ""
            return f"{spelled(number // scale, joint)} {name}{rest}"
    if number >= 100:
        rest = f" and {spelled(number % 100, joint)}" if number % 100 else ""
        return f"{UNITS[number // 100]} hundred{rest}"
    if number < 20:
        return UNITS[number]
    return TENS[number // 10 - 2] + (f"{joint}{UNITS[number % 10]}" if number % 10 else "")
