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
from admiral.citations.source_collections import SourceText
from admiral.errors import AdmiralError
from admiral.io.rendering import page_file, page_head, script_policy
from proofs.logic.wording import escaped

#: What an annotator may choose.
Choice = Literal["first", "second", "neither"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
#: How much of a statement an annotator finds in a source.
Evidence = Literal["enough", "partly", "none"]
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)
SIDES = ("first", "second")
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
    texts: tuple[str, str] = ("", "")  # the texts of both sources; empty where it is not known


def study_items(
    verdicts: Sequence[Mapping[str, Any]],
    claims: Mapping[str, CitedClaim],
    seed: int,
    *,
    only_replaced: bool = False,
    source_text: SourceText = lambda url: None,
) -> list[StudyItem]:
    """Return the items of a study in random order.

    - `verdicts`: records of verdicts. Those without a source that was read, or without a
      suggestion, have nothing to compare and are left out.
    - `claims`: the claims in their context by id; a verdict without one is shown without context.
    - `seed`: decides the order of the items and of the two sources of each.
    - `only_replaced`: keep only verdicts whose decision is ``replace``.
    - `source_text`: gives the text of a source by its URL, to be shown on demand.
    """
    generator = random.Random(f"study {seed}")
    items = []
    for verdict in verdicts:
        sources = [_best_source(verdict[key]) for key in ("existing", "suggestions")]
        existing, suggested = map(_passage_text, sources)
        if not existing or not suggested or existing == suggested:
            continue
        if only_replaced and verdict["decision"] != "replace":
            continue
        id = str(verdict["id"])
        existing_first = generator.random() < 0.5
        first, second = sources if existing_first else reversed(sources)
        pair = _passage_text(first), _passage_text(second)
        texts = _full_text(first, source_text), _full_text(second, source_text)
        name = hashlib.sha256(f"{seed}\n{id}".encode()).hexdigest()[:12]
        text = str(verdict.get("claim", ""))
        claim = claims.get(id) or CitedClaim(id, text, page=str(verdict.get("page") or ""))
        items.append(StudyItem(name, id, claim, pair, existing_first, texts))
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


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of an annotator by item; not all items need to be answered."""

    preferences: Mapping[str, Preference]
    # by item, how much of the statement is in the existing and in the suggested source
    existing: Mapping[str, Evidence]
    suggested: Mapping[str, Evidence]


def read_answers(path: Path, study: str, existing: Mapping[str, str]) -> Answers:
    """Return the answers of an annotator.

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
    labels: dict[bool, dict[str, Evidence]] = {True: {}, False: {}}
    for name, sides in (record.get("evidence") or {}).items():
        if name not in existing or not isinstance(sides, dict):
            raise AdmiralError(
                f"{path}: evidence.{name}: is of no item of the study. Export the answers again"
            )
        for side, label in sides.items():
            if side not in SIDES or label not in EVIDENCE:
                raise AdmiralError(
                    f"{path}: evidence.{name}.{side}: is {label!r}. Export the answers again"
                )
            labels[side == existing[name]][name] = label
    return Answers(preferences, labels[True], labels[False])


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


def _best_source(sources: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return the source with the highest score; None if none was read."""
    read = [
        source for source in sources if source.get("passage") and source.get("score") is not None
    ]
    return max(read, key=lambda source: float(source["score"]), default=None)


def _passage_text(source: Mapping[str, Any] | None) -> str:
    return "" if source is None else " ".join(str(source["passage"]["text"]).split())


def _full_text(source: Mapping[str, Any] | None, source_text: SourceText) -> str:
    return (source_text(str(source.get("url") or "")) or "") if source is not None else ""


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
    # of the existing and of the suggested sources: number of labels, and Fleiss' kappa of them
    evidence: Mapping[str, Mapping[str, int]]
    evidence_kappa: Mapping[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as a JSON object."""
        return {
            "annotators": self.annotators,
            "items": self.items,
            "annotations": self.annotations,
            "preferences": dict(self.preferences),
            "majorities": dict(self.majorities),
            "kappa": self.kappa,
            "evidence": {source: dict(counts) for source, counts in self.evidence.items()},
            "evidence_kappa": dict(self.evidence_kappa),
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


def score_study(annotators: Sequence[Answers]) -> StudyOutcome:
    """Return the outcome of a study.

    `annotators`: the answers of each annotator.
    """
    items = _by_item([answers.preferences for answers in annotators])
    labels = {
        "existing": _by_item([answers.existing for answers in annotators]),
        "suggested": _by_item([answers.suggested for answers in annotators]),
    }
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
        evidence={
            source: {each: sum(own[each] for own in counts.values()) for each in EVIDENCE}
            for source, counts in labels.items()
        },
        evidence_kappa={
            source: fleiss_kappa([[own[each] for each in EVIDENCE] for own in counts.values()])
            for source, counts in labels.items()
        },
    )


def _by_item(annotators: Sequence[Mapping[str, str]]) -> dict[str, Counter[str]]:
    """Return how often each item has each answer."""
    items: dict[str, Counter[str]] = {}
    for answers in annotators:
        for item, answer in answers.items():
            items.setdefault(item, Counter())[answer] += 1
    return items


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
        "bold. Read the two passages, say how much of the statement each source has, and choose "
        "the source that you would cite for it, or neither. "
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
    sides = "".join(
        f"<div><b>{name.capitalize()} source</b><p>{escaped(passage)}</p>{_whole(text)}"
        f"{_evidence(item.name, name)}</div>\n"
        for name, passage, text in zip(SIDES, item.passages, item.texts, strict=True)
    )
    return (
        f'<section data-item="{item.name}">\n<h2>{number}. {escaped(place)}</h2>\n'
        f'<p class="claim">{claim_html(item.claim)}</p>\n<div class="sides">\n'
        f"{sides}</div>\n"
        f"<fieldset><legend>I would cite</legend>\n{choices}</fieldset>\n</section>\n"
    )


_LABELS = {"enough": "all of it", "partly": "a part of it", "none": "nothing of it"}


def _evidence(item: str, side: str) -> str:
    labels = "".join(
        f'<label><input type="radio" name="{item}-{side}" value="{value}" data-side="{side}"> '
        f"{words}</label>\n"
        for value, words in _LABELS.items()
    )
    return f"<fieldset><legend>It has of the statement</legend>\n{labels}</fieldset>\n"


def _whole(text: str) -> str:
    if not text:
        return ""
    lines = "".join(f"<p>{escaped(line)}</p>" for line in text.splitlines() if line.strip())
    return f"<details><summary>The whole text</summary>{lines}</details>\n"
