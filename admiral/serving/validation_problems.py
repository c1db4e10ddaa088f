"""Errors of pydantic in plain words: what is wrong with which field, and what to give instead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

# Kind of error -> what the field is, and the remedy; braces are filled from the error's context.
_WORDS = {
    "bool_parsing": ("is not true or false", "Give true or false"),
    "bool_type": ("is not true or false", "Give true or false"),
    "dict_type": ("is not a JSON object", "Give a JSON object"),
    "extra_forbidden": ("is unknown", "Remove it"),
    "float_type": ("is not a number", "Give a number"),
    "greater_than": ("is too small", "Give more than {gt}"),
    "greater_than_equal": ("is too small", "Give {ge} or more"),
    "int_from_float": ("is not a whole number", "Give a whole number"),
    "int_parsing": ("is not a whole number", "Give a whole number"),
    "int_type": ("is not a whole number", "Give a whole number"),
    "less_than": ("is too large", "Give less than {lt}"),
    "less_than_equal": ("is too large", "Give {le} or less"),
    "list_type": ("is not a list", "Give a list"),
    "literal_error": ("is not one of its choices", "Give {expected}"),
    "missing": ("is missing", "Add it"),
    "model_attributes_type": ("is not a JSON object", "Give a JSON object"),
    "model_type": ("is not a JSON object", "Give a JSON object"),
    "string_too_long": ("is too long", "Give at most {max_length} characters"),
    "string_too_short": ("is empty", "Give a text"),
    "string_type": ("is not a text", "Give a text"),
    "string_unicode": ("is not a text in UTF-8", "Send it in UTF-8"),
    "too_long": ("is too long", "Give at most {max_length}"),
    "too_short": ("is empty", "Give at least {min_length}"),
}
_OTHER = ("has a value that is not allowed", "Give another value")
_PLACES = ("body", "query", "path")
# Parts of a place that name an alternative of a field, such as "constrained-int".
_ALTERNATIVE = re.compile(r"int|str|float|bool|.*[\[\]-].*")


def plain_problem(errors: Sequence[Mapping[str, Any]]) -> tuple[str, str, str]:
    """Return what is wrong with the first field in error, the remedy, and the field.

    Parameters
    ----------
    errors
        The errors of pydantic. Those of the same field are alternatives, of which one is enough.
    """
    field = _field(errors[0])
    alternatives = [error for error in errors if _field(error) == field]
    # An alternative of the right type says most: -1 is too small, rather than not `dynamic`.
    alternatives = [
        error for error in alternatives if error["type"] not in ("literal_error", "int_type")
    ] or alternatives
    words = [_words(error) for error in alternatives]
    what = words[0][0] if len(words) == 1 else _OTHER[0]
    remedies = dict.fromkeys(remedy for _, remedy in words)
    first, *others = remedies
    remedy = " or ".join((first, *(other[0].lower() + other[1:] for other in others)))
    return f"{_named(field)} {what}", remedy.replace("or give ", "or "), field


def _words(error: Mapping[str, Any]) -> tuple[str, str]:
    what, remedy = _WORDS.get(error["type"], _OTHER)
    return what, remedy.format_map(error.get("ctx", {}))


def _named(field: str) -> str:
    return f"the field {field!r}" if field else "the body"


def _field(error: Mapping[str, Any]) -> str:
    parts = [str(part) for part in error["loc"]]
    if parts and parts[0] in _PLACES:
        parts = parts[1:]
    return ".".join(part for part in parts if not _ALTERNATIVE.fullmatch(part))
