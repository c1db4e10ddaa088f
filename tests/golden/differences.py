"""Compare two JSON values and say in readable lines where they differ."""

import json
from difflib import SequenceMatcher

TOLERANCE = 1e-4
"""Maximum difference between two scores. All other values must be equal."""


def differences(before, after, place=""):
    """Yield a line "place: before -> after" for each difference.

    Numbers with a fraction are scores, which may differ by `TOLERANCE`. In a list, an item that was
    added, removed or moved is reported as such, not as an item with another score.

    Parameters
    ----------
    before, after
        What `json.loads` returns.
    place
        Where the two values are, such as ``a-001.hops[1]``.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            inner = f"{place}.{key}" if place else key
            if key not in after:
                yield f"{inner}: {_shown(before[key])} -> missing"
            elif key not in before:
                yield f"{inner}: missing -> {_shown(after[key])}"
            else:
                yield from differences(before[key], after[key], inner)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_differences(before, after, place)
    elif not _same(before, after):
        yield f"{place}: {_shown(before)} -> {_shown(after)}"


def _list_differences(before, after, place):
    matcher = SequenceMatcher(
        None, [_identity(each) for each in before], [_identity(each) for each in after], False
    )
    for kind, start, end, other_start, other_end in matcher.get_opcodes():
        ours, theirs = before[start:end], after[other_start:other_end]
        if kind == "equal" or (kind == "replace" and len(ours) == len(theirs) == 1):
            for offset, (one, other) in enumerate(zip(ours, theirs, strict=True)):
                yield from differences(one, other, f"{place}[{start + offset}]")
        else:
            yield f"{place}[{start}]: {_shown(ours)} -> {_shown(theirs)}"


def _identity(value):
    """Return what an item of a list is without its scores."""
    if isinstance(value, list):
        return f"[{','.join(map(_identity, value))}]"
    if isinstance(value, dict):
        # Not the values: hops and sources are compared field by field, in their order.
        return f"{{{','.join(sorted(value))}}}"
    return "score" if isinstance(value, float) else json.dumps(value)


def _same(before, after):
    if isinstance(before, float) and isinstance(after, float):
        return abs(before - after) <= TOLERANCE
    return type(before) is type(after) and bool(before == after)


def _shown(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"
