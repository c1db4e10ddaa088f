"""Which pages of a site robots may read, by its ``robots.txt`` (RFC 9309)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

#: As much of a file as is read, in bytes; RFC 9309 asks for 500 KiB.
LONGEST = 500 * 2**10
_LINE = re.compile(r"\s*([A-Za-z-]+)\s*:\s*([^#\n]*)")
_ESCAPES = re.compile(r"(?:%(?!2[Ff]|2[Aa]|24)[0-9A-Fa-f]{2})+")  # but those of / * $
_SAFE = "/%?=&*$;:@!'()+,~-._#[]"


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules for one robot.

    `rules`: (whether allowed, pattern of a path); `delay`: seconds between two requests.
    """

    rules: tuple[tuple[bool, str], ...] = ()
    delay: float = 0.0

    def allows(self, target: str) -> bool:
        """Return whether a path with its query may be read: the longest rule counts.

        Of two rules of one length, that which allows counts. ``robots.txt`` itself may be read.
        """
        target = _escaped(target or "/")
        if target == "/robots.txt":
            return True
        matching = [(len(rule), allowed) for allowed, rule in self.rules if _matches(rule, target)]
        return max(matching, default=(0, True))[1]


#: Nothing may be read, as where the server does not say what may.
NOTHING = RobotsRules(((False, "/"),))


def robots_rules(text: str, agent: str) -> RobotsRules:
    """Return the rules of a file for a robot, or else those for all robots.

    `agent`: the name of the robot, without its version. Lines that cannot be read do not count.
    """
    groups = list(_groups(text))
    own = [group for group in groups if agent.lower() in group[0]]
    chosen = own or [group for group in groups if "*" in group[0]]
    rules: list[tuple[bool, str]] = []
    delay = 0.0
    for _, lines in chosen:
        for key, value in lines:
            if key == "crawl-delay":
                delay = max(delay, float(value) if re.fullmatch(r"\d+(\.\d+)?", value) else 0.0)
            elif value:
                rules.append((key == "allow", _escaped(value)))
    return RobotsRules(tuple(rules), delay)


def _groups(text: str) -> Iterator[tuple[set[str], list[tuple[str, str]]]]:
    """Yield each group: the names of robots, and the lines for them."""
    agents: set[str] = set()
    lines: list[tuple[str, str]] = []
    for line in text.removeprefix("\ufeff").splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        key, value = match[1].lower(), match[2].strip()
        if key == "user-agent":
            if lines:
                yield agents, lines
                agents, lines = set(), []
            agents.add(value.partition("/")[0].strip().lower())
        elif key in ("allow", "disallow", "crawl-delay") and agents:
            lines.append((key, value))
    if agents:
        yield agents, lines


def _matches(rule: str, target: str) -> bool:
    """Return whether a rule with ``*`` and a final ``$`` matches; linear in both lengths."""
    is_whole = rule.endswith("$")
    first, *rest = rule.removesuffix("$").split("*")
    if not target.startswith(first):
        return False
    position = len(first)
    for number, piece in enumerate(rest):
        if is_whole and number == len(rest) - 1:
            return len(target) - len(piece) >= position and target.endswith(piece)
        found = target.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return not is_whole or position == len(target)


def _escaped(path: str) -> str:
    """Return a path in one form of percent-encoding, so that paths can be compared."""
    plain = _ESCAPES.sub(lambda match: unquote(match[0], errors="replace"), path)
    return quote(plain, safe=_SAFE, errors="replace")
