"""A blind study of suggested sources: its items, its key, the answers and their outcome.

The page of a study holds neither URLs nor titles, and nothing that tells the two sources apart. The
key, a file of its own, says which of them is cited.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from admiral.citations.audit_page import claim_html
from admiral.citations.citation_records import CitedClaim
from admiral.errors import AdmiralError
from admiral.io.judgement_page import page_file, page_head, script_policy
from proofs.logic.wording import escaped

#: What an annotator may choose.
Choice = Literal["first", "second", "neither"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
#: What a choice means once the order is known.
Preference = Literal["existing", "suggested", "neither"]
_KEY_FORMAT = 1


@dataclass(frozen=True, slots=True)
class StudyItem:
    """An item of a study."""

    name: str
    claim_id: str
    claim: CitedClaim
    passages: tuple[str, str]  # the passages of the first and of the second source
    existing_first: bool  # whether the first source is the one that the claim cites


def study_items(
    verdicts: Sequence[Mapping[str, Any]],
    claims: Mapping[str, CitedClaim],
    seed: int,
    *,
    only_replaced: bool = False,
) -> list[StudyItem]:
    """Return the items of a study in random order.

    - `verdicts`: records of verdicts. Those without a source that was read, or without a
      suggestion, have nothing to compare and are left out.
    - `claims`: the claims in their context by id; a verdict without one is shown without context.
    - `seed`: decides the order of the items and of the two sources of each.
    - `only_replaced`: keep only verdicts whose decision is ``replace``.
    """
    generator = random.Random(f"study {seed}")
    items = []
    for verdict in verdicts:
        existing = _best_passage(verdict["existing"])
        suggested = _best_passage(verdict["suggestions"])
        if not existing or not suggested or existing == suggested:
            continue
        if only_replaced and verdict["decision"] != "replace":
            continue
        id = str(verdict["id"])
        existing_first = generator.random() < 0.5
        pair = (existing, suggested) if existing_first else (suggested, existing)
        name = hashlib.sha256(f"{seed}\n{id}".encode()).hexdigest()[:12]
        text = str(verdict.get("claim", ""))
        claim = claims.get(id) or CitedClaim(id, text, page=str(verdict.get("page") or ""))
        items.append(StudyItem(name, id, claim, pair, existing_first))
    generator.shuffle(items)
    return items


def study_name(items: Sequence[StudyItem]) -> str:
    """Return a name that tells studies apart, and nothing else."""
    content = "\n".join(f"{item.name}\n{item.passages[0]}\n{item.passages[1]}" for item in items)
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]


def key_record(items: Sequence[StudyItem]) -> dict[str, Any]:
    """Return the key of a study, which says which source of each item is the existing one."""
    return {
        "format": _KEY_FORMAT,
        "study": study_name(items),
        "items": {
            item.name: {
                "id": item.claim_id,
                "existing": "first" if item.existing_first else "second",
            }
            for item in items
        },
    }


def read_key(path: Path) -> tuple[str, dict[str, str]]:
    """Return the name of a study, and by item which source is the existing one.

    Raises AdmiralError if the file is not the key of a study.
    """
    record = read_json(path)
    remedy = "Give the key that `admiral study build` wrote beside the page"
    items = record.get("items")
    if record.get("format") != _KEY_FORMAT or not isinstance(items, dict):
        raise AdmiralError(f"{path}: is not the key of a study. {remedy}")
    existing = {}
    for name, item in items.items():
        side = item.get("existing") if isinstance(item, dict) else None
        if side not in ("first", "second"):
            raise AdmiralError(f"{path}: items.{name}.existing is {side!r}. {remedy}")
        existing[name] = side
    return str(record.get("study")), existing


def read_answers(path: Path, study: str, existing: Mapping[str, str]) -> dict[str, Preference]:
    """Return the preference of an annotator for each item that was answered.

    `path`: answers as the page exports them. Raises AdmiralError if the file holds no answers, or
    those of another study.
    """
    record = read_json(path)
    answers = record.get("answers")
    if not isinstance(answers, dict):
        raise AdmiralError(f"{path}: field 'answers' is missing. Give a file that a study exported")
    if record.get("study") != study:
        raise AdmiralError(f"{path}: answers another study. Give the key of that study with --key")
    preferences: dict[str, Preference] = {}
    for name, choice in answers.items():
        if name not in existing or choice not in CHOICES:
            raise AdmiralError(
                f"{path}: answers.{name}: is {choice!r}, or of no item of the study. Export the "
                "answers again"
            )
        if choice == "neither":
            preferences[name] = "neither"
        else:
            preferences[name] = "existing" if choice == existing[name] else "suggested"
    return preferences


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file."""
    try:
        record = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise AdmiralError(f"{path}: cannot be read: {error.strerror}. Check the path") from error
    except (ValueError, RecursionError) as error:
        raise AdmiralError(f"{path}: is not JSON ({error}). Export the file again") from error
    if not isinstance(record, dict):
        raise AdmiralError(f"{path}: is not a JSON object. Export the file again")
    return record


def _best_passage(sources: Sequence[Mapping[str, Any]]) -> str:
    """Return the passage of the source with the highest score; empty if none was read."""
    read = [
        source for source in sources if source.get("passage") and source.get("score") is not None
    ]
    best = max(read, key=lambda source: float(source["score"]), default=None)
    return "" if best is None else " ".join(str(best["passage"]["text"]).split())


PREFERENCES: tuple[Preference, ...] = get_args(Preference)
NO_MAJORITY = "no majority"


@dataclass(frozen=True, slots=True)
class SignTest:
    """An exact sign test of suggested against existing sources; ties are left out."""

    # wins, losses: how often the suggested and how often the existing source was preferred
    wins: int
    losses: int
    one_tailed: float  # probability of at least this number of wins if both were equally good
    two_tailed: float  # probability of a difference at least as large in either direction


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """The outcome of a study."""

    # annotators, items, annotations: number of annotators, of items with an answer, and of answers
    annotators: int
    items: int
    annotations: int
    preferences: Mapping[str, int]  # number of answers by preference
    majorities: Mapping[str, int]  # number of items by the preference of most of their annotators
    # Fleiss' kappa; None if no item has two answers, or all answers are the same
    kappa: float | None
    # by_majority, by_annotation: sign tests over items with a majority, and over answers, which are
    # not independent
    by_majority: SignTest
    by_annotation: SignTest

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        return {
            "annotators": self.annotators,
            "items": self.items,
            "annotations": self.annotations,
            "preferences": dict(self.preferences),
            "majorities": dict(self.majorities),
            "kappa": self.kappa,
            **{
                name: {
                    "wins": test.wins,
                    "losses": test.losses,
                    "one_tailed": test.one_tailed,
                    "two_tailed": test.two_tailed,
                }
                for name, test in (
                    ("by_majority", self.by_majority),
                    ("by_annotation", self.by_annotation),
                )
            },
        }


def score_study(annotators: Sequence[Mapping[str, Preference]]) -> StudyOutcome:
    """Return the outcome of a study.

    `annotators`: the preference of each annotator by item; not all need to answer all items.
    """
    items: dict[str, Counter[str]] = {}
    for answers in annotators:
        for item, preference in answers.items():
            items.setdefault(item, Counter())[preference] += 1
    preferences = sum(items.values(), Counter[str]())
    majorities = Counter(majority(counts) for counts in items.values())
    return StudyOutcome(
        annotators=len(annotators),
        items=len(items),
        annotations=preferences.total(),
        preferences={each: preferences[each] for each in PREFERENCES},
        majorities={each: majorities[each] for each in (*PREFERENCES, NO_MAJORITY)},
        kappa=fleiss_kappa([[counts[each] for each in PREFERENCES] for counts in items.values()]),
        by_majority=sign_test(majorities["suggested"], majorities["existing"]),
        by_annotation=sign_test(preferences["suggested"], preferences["existing"]),
    )


def majority(counts: Mapping[str, int]) -> str:
    """Return what more than half of the annotators of an item prefer."""
    total = sum(counts.values())
    return next((each for each, count in counts.items() if 2 * count > total), NO_MAJORITY)


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Return Fleiss' kappa of items with any number of ratings; None if it is not defined.

    Items with one rating say nothing about agreement and are left out. With equal numbers of
    ratings this is the measure of Fleiss (1971). `counts`: for each item, the number of ratings of
    each category.
    """
    rated = [row for row in counts if sum(row) >= 2]
    if not rated:
        return None
    total = sum(map(sum, rated))
    agreements: list[float] = [
        (sum(count * count for count in row) - sum(row)) / (sum(row) * (sum(row) - 1))
        for row in rated
    ]
    observed = sum(agreements) / len(rated)
    shares: list[float] = [sum(column) / total for column in zip(*rated, strict=True)]
    expected = sum(share * share for share in shares)
    if expected >= 1.0:
        return None
    return float((observed - expected) / (1 - expected))


def sign_test(wins: int, losses: int) -> SignTest:
    """Return the exact sign test of wins against losses, by the binomial distribution."""
    count = wins + losses

    def at_least(successes: int) -> float:
        ways, term = 0, 1  # term: outcomes with `number` wins, counted down from all
        for number in range(count, successes - 1, -1):
            ways += term
            term = term * number // (count - number + 1)
        return float(ways / 2**count)  # integers, so that this is exact before the division

    two_tailed = min(1.0, 2 * at_least(max(wins, losses)))
    return SignTest(wins, losses, at_least(wins), two_tailed)


_CHOICES = (
    ("first", "the first source"),
    ("second", "the second source"),
    ("neither", "neither of them"),
)
_STYLE = page_file("study.css")
_SCRIPT = page_file("study.js")


def study_page(items: Sequence[StudyItem]) -> Iterator[str]:
    """Yield the HTML of a study in parts; it does not say which source is which.

    `items`: the items, in the order in which they are shown.
    """
    head = page_head("Which source would you cite?", _STYLE, script_policy(_SCRIPT))
    yield head.replace("<body>", f'<body data-study="{study_name(items)}">')
    yield (
        "<h1>Which source would you cite?</h1>\n<p>Each statement is shown in its context, in "
        "bold. Read the two passages and choose the source that you would cite for it, or neither. "
        "The sources are in random order. Answers are kept in this browser; save them at the end."
        "</p>\n"
        "<form>\n"
    )
    for number, item in enumerate(items, 1):
        yield _item(number, item)
    yield (
        '<footer><label>Your name or a nickname <input type="text" name="annotator"></label>'
        '<button type="submit">Save answers as a file</button> <output></output></footer>\n'
        "</form>\n"
        f"<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


def _item(number: int, item: StudyItem) -> str:
    place = " › ".join(filter(None, [item.claim.page, *item.claim.section]))
    choices = "".join(
        f'<label><input type="radio" name="{item.name}" value="{value}"> {words}</label>\n'
        for value, words in _CHOICES
    )
    first, second = map(escaped, item.passages)
    return (
        f'<section data-item="{item.name}">\n<h2>{number}. {escaped(place)}</h2>\n'
        f'<p class="claim">{claim_html(item.claim)}</p>\n<div class="sides">\n'
        f"<div><b>First source</b><p>{first}</p></div>\n"
        f"<div><b>Second source</b><p>{second}</p></div>\n</div>\n"
        f"<fieldset><legend>I would cite</legend>\n{choices}</fieldset>\n</section>\n"
    )
