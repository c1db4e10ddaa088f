"""A database of ten synsets in WordNet's file format."""

# Name -> part of speech, words, and pointers as (symbol, name of a synset).
SYNSETS = {
    "person": ("n", ["person"], []),
    "performer": ("n", ["performer", "entertainer"], [("@", "person")]),
    "comic": ("n", ["comic", "comedian"], [("@", "performer")]),
    "singer": ("n", ["singer"], [("@", "performer")]),
    "city": ("n", ["city"], []),
    "oslo": ("n", ["oslo", "christiania"], [("@i", "city")]),
    "sing": ("v", ["sing"], []),
    "hot": ("a", ["hot"], [("!", "cold")]),
    "cold": ("a", ["cold"], [("!", "hot")]),
    "quickly": ("r", ["quickly", "rapidly"], []),
}
_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_HEADER = "  1 WordNet 3.0 Copyright 2006 is what readers look for here.\n"


def write(directory):
    """Write the files of a distribution of the database that NLTK reads."""
    directory.mkdir(parents=True)
    offsets = {}
    for final in (False, True):
        for part, file in _FILES.items():
            text = _HEADER
            for name, (pos, words, pointers) in SYNSETS.items():
                if pos == part:
                    if not final:
                        offsets[name] = len(text)
                    text += _synset(offsets, name, pos, words, pointers)
            (directory / f"data.{file}").write_text(text, encoding="ascii")
    for part, file in _FILES.items():
        entries = sorted(
            f"{word} {part} 1 0 1 0 {offsets[name]:08}  \n"
            for name, (pos, words, _) in SYNSETS.items()
            if pos == part
            for word in words
        )
        (directory / f"index.{file}").write_text(_HEADER + "".join(entries), encoding="ascii")
        irregular = "sang sing\n" if part == "v" else ""
        (directory / f"{file}.exc").write_text(irregular, encoding="ascii")
    senses = sorted(
        f"{word}%{number}:00:00:: {offsets[name]:08} 1 0\n"
        for number, part in enumerate(_FILES, 1)
        for name, (pos, words, _) in SYNSETS.items()
        if pos == part
        for word in words
    )
    (directory / "index.sense").write_text("".join(senses), encoding="ascii")
    names = "".join(f"{number:02}\tnoun.{number}\t1\n" for number in range(45))
    (directory / "lexnames").write_text(names, encoding="ascii")
    return directory


def _synset(offsets, name, pos, words, pointers):
    lemmas = " ".join(f"{word} 0" for word in words)
    targets = []
    for symbol, target in pointers:
        words_meant = "0101" if symbol == "!" else "0000"  # the first word of each, or all
        offset = offsets.get(target, 0)
        targets.append(f" {symbol} {offset:08} {SYNSETS[target][0]} {words_meant}")
    frames = " 01 + 02 00" if pos == "v" else ""
    head = f"{offsets[name]:08} 00 {pos} {len(words):02x} {lemmas} {len(pointers):03}"
    return f"{head}{''.join(targets)}{frames} | a gloss  \n"
