"""Texts that state nothing, such as questions, greetings and fragments, which have no verdict.

The rules know no grammar but a few hundred words. They err towards a verdict: a headline or a short
claim is not to be turned away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from proofs.logic.words import (
    ALL_PREPOSITIONS,
    AUXILIARIES,
    NEGATIONS,
    STOP_WORDS,
    VERBS,
    split_words,
    word_list,
)

_PAST = word_list(
    """
    arose ate beat become bent bet bit bled blew bought bred broke brought burst cast caught chose
    clung cost cut dealt drank drove dug fed felt fled flew forbade forgot found froze got ground
    heard hid hit hung hurt kept knew laid lay left lent let lit lost made meant met paid put quit
    rang read rode said sank sat saw sent set shed shone shook shot shut slept slid sold sought
    spent split spoke sprang spread stole stood struck stuck swam swept swore swung taught thought
    threw told tore understood upheld went wept withdrew woke wore wound
    """
)
_OPINION = re.compile(
    r"\W*(?:[Ii]|[Ww]e) (?:think|believe|feel|guess|suppose|hope|wish)\b"
    r"|\W*[Ii]n my (?:opinion|view)\b"
)
_REQUEST = re.compile(
    r"\W*(?:[Pp]lease (?!note)"
    r"|(?:[Ww]rite|[Tt]ell|[Gg]ive|[Ss]how|[Ee]xplain|[Dd]escribe|[Ll]ist|[Ff]ind|[Mm]ake|[Cc]heck"
    r"|[Ss]ummari[sz]e|[Tt]ranslate) (?:me|us|how|why|whether|(?:an?|the|all) [a-z]))"
)
_PROPER = re.compile(r"[A-Z0-9][\w.'’&-]*")
# Frequent words of French, German, Spanish, Italian, Portuguese and Dutch that are neither English
# nor parts of names, and words of English that some of these have too.
_FOREIGN = word_list(
    """
    les des une est sont dans et avec pour qui était été sur au aux die das und ist sind wurde ein
    eine im mit für auf dem nicht los fue es una por con que il gli è nel che sono ha uno um uma foi
    são não em het een zijn werd wordt niet op
    """
)
_SHARED = word_list("a am an as at do had he i in is me no of on over so was we")
_GREETING = re.compile(
    r"\W*(?:hello|hi|hey|greetings|thanks(?! to)|thank you"
    r"|good (?:morning|afternoon|evening|night))\b",
    re.IGNORECASE,
)
_COUNT = re.compile(r"(?![12][0-9]{3}$)[0-9]")  # and no year
_NOISE = re.compile(r"[b-df-hj-np-tv-xz]{4,}")
_KEYS = "qwertyuiop asdfghjkl zxcvbnm poiuytrewq lkjhgfdsa mnbvcxz"

_ARTICLES = word_list("the a an this his her its their my our your another every no")
_LEADS = (ALL_PREPOSITIONS - {"like"}) | _ARTICLES | {"than", "and", "or"}
_COUNTING = word_list("than least most nearly almost only over about around the")
_RELATIVE = word_list("who which that where when whose whom")
_OPENING = re.compile(
    rf"\W*(?:{'|'.join(_LEADS)}|\w{{3,}}est|only|first|(?:more|less|fewer) than|nearly|almost"
    r"|\w+ of|(?:born|built|known|made|written|set|held|led|\w+ed) "
    r"(?:in|on|at|by|as|from|for|to|of|near|with))\s",
    re.IGNORECASE,
)
# Words after which a verb may have no ending: "The police search the house".
_PLURAL = word_list(
    """
    i we you they these those many most some all both few others half none and or rich poor elderly
    people men women children police cattle deer sheep fish clergy geese mice feet teeth bacteria
    data media press public team band group family crew staff couple duo trio pair majority number
    community
    """
)


def form_warning(text: str) -> str | None:
    """Return why a text has no verdict, for readers, or None if it states something."""
    if text.rstrip().rstrip("\"'”’)]").endswith("?"):
        return "This is a question, which is neither true nor false; state it as a claim."
    if _OPINION.match(text):
        return "This is an opinion of the speaker; state what evidence can show."
    letters = [char for char in text if char.isalpha()]
    if 2 * sum("LATIN" in unicodedata.name(char, "") for char in letters) < len(letters):
        return "This is not in the Latin script; claims are read in English alone."
    words = [text[word.start : word.end] for word in split_words(text) if word.norm]
    lower = [word.lower() for word in words]
    has_english = any(word in STOP_WORDS - _SHARED for word in lower)
    if sum(word in _FOREIGN for word in words) > 1 and not has_english:
        return "This is not in English, the only language in which claims are read."
    has_verb = any(map(_is_verb, lower))
    if _GREETING.match(text) and not has_verb:
        return "This is a greeting, which is neither true nor false; state a claim."
    if _REQUEST.match(text):
        return "This is a request, which is neither true nor false; state a claim."
    distinct = len(set(lower))  # of a long text, every word comes back
    is_repeated = (distinct < 9 and len(words) >= 3 * distinct) or distinct == 1
    if text.strip() and (is_repeated or 2 * sum(map(_is_noise, words)) > len(words)):
        return "These words make no sentence; write a whole one."
    in_capitals = all(_PROPER.fullmatch(word) for word in words if word.lower() not in STOP_WORDS)
    has_verb |= any(_ends_in_s(a) and b != "of" for a, b in pairwise(lower[1:]))
    if words and in_capitals and not (has_verb or text.rstrip()[-1:] in ".!"):
        return "This is a name, which states nothing; write a whole sentence."
    if _OPENING.match(text) and not _may_state(words, in_capitals):
        return "This is part of a sentence, without a verb; write a whole sentence."
    return None


def _is_verb(word: str) -> bool:
    known = word in AUXILIARIES or word in _PAST or word in VERBS or word in NEGATIONS
    return known or (word.endswith("ed") and len(word) > 3) or "'" in word or "’" in word


def _is_noise(word: str) -> bool:
    return len(word) > 3 and bool(word in _KEYS or _NOISE.fullmatch(word))


def _ends_in_s(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _LEADS


def _may_state(words: Sequence[str], in_capitals: bool) -> bool:
    """Return whether one of the words after the first may be the verb of a main clause.

    Each relative pronoun has one verb of its own. A word after a preposition or an article is no
    verb, nor is a plural after a number ("more than 40 people"), nor a name, unless all words are
    `in_capitals`.
    """
    lower = [word.lower() for word in words]
    follows_plural, relatives = _ends_in_s(lower[0]), 0
    for at, word in enumerate(words[1:], 1):
        norm, previous = lower[at], lower[at - 1]
        is_name = word.istitle() and not in_capitals
        is_plural = _ends_in_s(norm) or norm in _PLURAL
        is_counted = is_plural and _COUNT.match(previous) and lower[at - 2] in _COUNTING
        is_led = previous in _LEADS or is_counted
        is_bare = (_ends_in_s(norm) or follows_plural) and norm not in _LEADS and not is_led
        if word in _RELATIVE and not (norm == "that" and is_led):
            relatives += 1
        elif _is_verb(norm) or (is_bare and not is_name and norm[0].isalpha()):
            if not (relatives or is_name):
                return True
            relatives = max(relatives - 1, 0)
        else:
            may_be_many = bool(_COUNT.match(norm)) or (is_name and previous == "the")
            follows_plural |= is_plural or may_be_many
    return False
