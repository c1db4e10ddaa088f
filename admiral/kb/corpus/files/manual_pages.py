"""Read the sources of manual pages: roff with the macros of man(7) or mdoc(7).

Nothing is executed, so definitions of macros and conditions are left out. Tables (``.TS``) and
examples without filled lines (``.nf``) are left out as well, except in the synopsis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from admiral.kb.corpus.files import TextBuilder, UnreadableFileError
from proofs.logic.words import word_list

_SPECIAL = {
    "lq": "“", "rq": "”", "oq": "‘", "cq": "’", "aq": "'", "dq": '"', "em": "—", "en": "–",
    "hy": "-", "bu": "•", "co": "©", "rg": "®", "tm": "™", "de": "°", "ha": "^", "ti": "~",
    "rs": "\\", "mi": "-", "mu": "×", "+-": "±", "<=": "≤", ">=": "≥", "!=": "≠", "->": "→",
    "<-": "←", "sc": "§", "ga": "`", "aa": "´", "ss": "ß", "ul": "_", "sl": "/", "ba": "|",
    "at": "@", "sh": "#", "Do": "$", "Fo": "«", "Fc": "»", "lB": "[", "rB": "]", "lC": "{",
    "rC": "}", "la": "⟨", "ra": "⟩", "Bq": "„", "bq": "‚", "12": "½", "14": "¼", "34": "¾",
    "R": "®", "Tm": "™", "c,": "ç", "/o": "ø", "/O": "Ø", "oa": "å", "AE": "Æ", "ae": "æ",
}  # fmt: skip
_ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    ":": "\u0308",
    "^": "\u0302",
    "~": "\u0303",
    "v": "\u030c",
}
_ESCAPE = re.compile(
    r"\\(?:"
    r"(?P<none>[&|^%/,:)!?{}acdprtu]|f(?:\((?:..)|\[[^\]]*\]|.)|s(?:[+-]?\d{1,2}|\[[^\]]*\])"
    r"|[mMFgkn](?:\(..|\[[^\]]*\]|[^(\[])|[hvwlLoDHSRXYZAbBN]'[^']*')"
    r"|(?P<space>[ ~0])|(?P<minus>-)|(?P<backslash>[e\\E])|(?P<self>['`.\"])"
    r"|\((?P<two>..)|\[(?P<long>[^\]]*)\]|\*(?:\((?P<string>..)|\[(?P<name>[^\]]*)\]|(?P<one>.))"
    r")"
)
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)(?:"|$)|((?:\\ |\\.|\S)+)')


def without_escapes(line: str) -> str:
    """Return the characters that a line of roff prints."""
    return _ESCAPE.sub(_printed, line) if "\\" in line else line


def arguments(line: str) -> list[str]:
    """Return the arguments of a macro, which may be in quotes, without escapes."""
    found = (
        without_escapes(match.group(2) or (match.group(1) or "").replace('""', '"'))
        for match in _ARGUMENT.finditer(line)
    )
    return list(found)


def _printed(match: re.Match[str]) -> str:
    kind = match.lastgroup
    value = match.group(kind) if kind else ""
    if kind == "space":
        return " "
    if kind == "minus":
        return "-"
    if kind == "backslash":
        return "\\"
    if kind == "self":
        return str(value)
    if kind in ("two", "long", "string", "name"):
        return _character(str(value))
    return ""


def _character(name: str) -> str:
    if name in _SPECIAL:
        return _SPECIAL[name]
    if re.fullmatch(r"u[0-9A-F]{4,5}", name):
        return chr(int(name[1:], 16))
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return name[1] + _ACCENTS[name[0]]
    return ""


_CODING = re.compile(rb'\A[.\']\\".*?coding:\s*([\w-]+)')
_FONTS = word_list("B I R BI BR IB IR RB RI SM SB")
_PARAGRAPHS = word_list("PP P LP HP sp Pp br RS RE Bl El Bd Ed Lp UE ME EE")
_SKIPPED = {"TS": "TE", "EQ": "EN", "PS": "PE", "de": ".", "de1": ".", "am": ".", "ig": "."}
_UNFILLED = {"nf": "fi", "EX": "EE"}
_HEAD = re.compile(r"\.\s*(?:TH|Dt|SH|Sh)\b")
_WORD = re.compile(r"[\w.+:@-]+")
_NAME_LINE = re.compile(r"\s+[-—–]+\s+|\s+\\-\s+")

# mdoc: macros whose arguments are printed as they are, and what is put before or around them.
_PREFIXES = {"Fl": "-", "Cm": "", "Ic": "", "Ar": "", "Pa": "", "Ev": "", "Dv": "", "Va": "",
             "Vt": "", "Fa": "", "Fn": "", "Ft": "", "Em": "", "Sy": "", "Li": "", "No": "",
             "Tn": "", "Er": "", "Ad": "", "An": "", "Aq": "", "Ap": "'", "Ms": "", "Cd": "",
             "Lk": "", "Mt": "", "Bx": "BSD ", "Fx": "FreeBSD ", "Nx": "NetBSD ",
             "Ox": "OpenBSD ", "At": "AT&T UNIX ", "Ux": "UNIX ", "St": "", "Rs": "", "Ns": "",
             "Pf": "", "Bq": "", "Brq": "", "Pq": "", "Ql": "", "Sq": "", "Dq": "", "Qq": "",
             "Op": "", "Oo": "", "Oc": "", "Po": "", "Pc": "", "Do": "", "Dc": "", "So": "",
             "Sc": "", "Xo": "", "Xc": "", "Ta": "", "Nm": "", "Xr": ""}  # fmt: skip
_ENCLOSED = {"Op": "[]", "Pq": "()", "Bq": "[]", "Brq": "{}", "Aq": "<>", "Dq": '""', "Qq": '""',
             "Sq": "''", "Ql": "''"}  # fmt: skip
_CLOSING = frozenset(".,:;)]?!")


def read_manual_page(data: bytes, text: TextBuilder) -> None:
    """Read the source of a manual page."""
    match = _CODING.match(data)
    try:
        source = data.decode(match.group(1).decode() if match else "utf-8")
    except (UnicodeDecodeError, LookupError):
        source = data.decode("latin-1")  # what roff assumes
    lines = source.replace("\r\n", "\n").split("\n")
    if next((line for line in lines if line.strip()), "").startswith(".so "):
        raise UnreadableFileError("a link to another manual page")
    if not any(_HEAD.match(line) for line in lines):
        raise UnreadableFileError("not a manual page, although its name ends in a section")
    _Page(text).add(lines)


class _Page:
    """Add the requests and macros of one page."""

    def __init__(self, text: TextBuilder) -> None:
        self._text = text
        self._paragraph: list[str] = []
        self._term: str | None = None
        self._expects_term = False
        self._name, self._section = "", ""
        self._heading = ""
        self._has_name = False  # whether the section NAME has been read

    def add(self, lines: list[str]) -> None:
        ends: str | None = None  # the request that ends what is skipped
        unfilled = ""
        for line in _joined_lines(lines):
            control = line[:1] in (".", "'")
            name, _, rest = line[1:].lstrip().partition(" ") if control else ("", "", line)
            if ends is not None:
                ends = None if name == ends or (ends == "." and line.startswith("..")) else ends
            elif name in _SKIPPED:
                ends = _SKIPPED[name]
            elif unfilled:
                unfilled = "" if name in (unfilled, "fi", "SH", "Sh") else unfilled
                if name in ("SH", "Sh"):
                    self._macro(name, rest)
            elif name in _UNFILLED and self._heading.lower() not in ("synopsis", "name"):
                self._flush()
                unfilled = _UNFILLED[name]
            elif control:
                self._macro(name, rest)
            elif line.strip():
                self._words(without_escapes(line))
            else:
                self._flush()
        self._flush()

    def _macro(self, name: str, rest: str) -> None:
        text = self._text
        if name in ("TH", "Dt"):
            words = [*arguments(rest), "", ""]
            self._name, self._section = words[0], words[1]
            if self._name and self._section:
                text.propose_title(f"{_spelling(self._name)}({self._section.lower()})")
        elif name in ("SH", "Sh", "SS", "Ss"):
            self._flush()
            title = " ".join(arguments(rest)) or "Section"
            level = 1 if name.lower() == "sh" else 2
            self._heading = title if level == 1 else self._heading
            text.heading(level, title)
        elif name in ("TP", "TQ"):
            self._flush(keep_term=name == "TQ")
            self._expects_term = True
        elif name == "IP":
            self._flush()
            term = next(iter(arguments(rest)), "")
            self._term = term if any(map(str.isalnum, term)) else None
        elif name == "It":
            self._flush()
            self._term = _mdoc_words(rest, self._name) or None
        elif name in _PARAGRAPHS:
            self._flush()
        elif name in _FONTS:
            words = arguments(rest)
            self._words(("" if len(name) == 2 and name not in ("SM", "SB") else " ").join(words))
        elif name in ("UR", "MT"):
            return
        elif name in ("URL", "MTO"):  # of www.tmac and asciidoctor: address, text, what follows
            words = [*arguments(rest), "", "", ""]
            self._words((words[1] or words[0]) + words[2])
        elif name == "MR":
            words = arguments(rest)
            self._words(f"{words[0]}({words[1]})" + "".join(words[2:]) if words[1:] else rest)
        elif name == "Nm" and self._heading.lower() == "name":
            self._name = next(iter(arguments(rest)), self._name)
            self._words(self._name)
        elif name == "Nd":
            self._words("- " + " ".join(arguments(rest)))
        elif name in _PREFIXES:
            self._words(_mdoc_words(f"{name} {rest}", self._name))

    def _words(self, words: str) -> None:
        if not words.strip():
            return
        if self._expects_term:
            self._term = f"{self._term}, {words}" if self._term else words
            self._expects_term = False
        else:
            self._paragraph.append(words)

    def _flush(self, *, keep_term: bool = False) -> None:
        words, self._paragraph = " ".join(self._paragraph), []
        self._expects_term = False
        if self._heading.lower() == "name" and self._section and not self._has_name and words:
            self._has_name = True
            # The head of a page may name the group that it belongs to, such as tc for choke(8).
            first = _NAME_LINE.split(words)[0].partition(",")[0].strip()
            if _WORD.fullmatch(first):
                self._text.titles.insert(0, f"{first}({self._section.lower()})")
        if words and self._term:
            self._text.definition(self._term, words)
        elif words:
            self._text.paragraph(words)
        elif self._term and not keep_term:
            self._text.item(self._term)
        if not keep_term:
            self._term = None


def _joined_lines(lines: list[str]) -> Iterator[str]:
    current = ""
    for line in lines:
        if re.match(r"[.']\s*\\[\"#]", line):
            continue
        line = current + re.sub(r"(?<!\\)\\[\"#].*", "", line)
        if line.endswith("\\") and not line.endswith("\\\\"):
            current = line[:-1]
            continue
        current = ""
        yield line
    if current:
        yield current


def _spelling(name: str) -> str:
    return name.lower() if name.isupper() else name


def _mdoc_words(line: str, page: str) -> str:
    words: list[str] = []
    closings: list[str] = []
    prefix, glue = "", False
    previous = ""
    for word in arguments(line):
        if word in _PREFIXES and word != previous:
            prefix = _PREFIXES[word]
            if prefix.endswith(" "):  # the name of a system, with or without its version
                words.append(prefix.strip())
                prefix = ""
            if word in _ENCLOSED:
                words.append(_ENCLOSED[word][0])
                closings.append(_ENCLOSED[word][1])
                glue = True
            elif word in ("Ns", "Pf", "Ap"):
                glue = True
                if word == "Ap" and words:
                    words[-1] += "'"
            elif word == "Nm" and page:
                previous = word
                continue
            previous = word
            continue
        if previous == "Xr" and re.fullmatch(r"\d\w*", word) and words:
            words[-1] += f"({word})"
        elif (glue or word in _CLOSING) and words:
            words[-1] += prefix + word
        else:
            words.append(prefix + word)
        glue = previous == "Pf" and not glue
    if previous == "Nm" and (not words or words[-1] in "[("):
        words.append(page)
    return " ".join(words) + "".join(reversed(closings))
