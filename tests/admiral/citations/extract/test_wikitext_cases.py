"""Corner cases of wikitext: each with the claims that are to be extracted."""

from __future__ import annotations

import pytest

from admiral.citations.extract import extract_claims

A, B, C = "https://a.example/1", "https://b.example/2", "https://c.example/3"
WEB_A = f"{{{{cite web|url={A}|title=Ay}}}}"
WEB_B = f"{{{{cite web|url={B}|title=Bee}}}}"

RAINED = ("It rained.", "It rained.", [A], [])
DRIED = ("It dried.", "It dried.", [B], [])
FLOODED = ("It flooded.", "It flooded.", [A], [])
FLOODED_B = ("It flooded.", "It flooded.", [B], [])
RAINED_AB = ("It rained.", "It rained.", [A, B], [])
TOWN = ("The town flooded.", "The town flooded.", [A], [])

# name: wikitext, and for each claim (claim, part up to the mark, URLs, tags)
CASES: dict[str, tuple[str, list[tuple[str, str, list[str], list[str]]]]] = {
    "ref after the full stop": (
        f"It rained. The town flooded.<ref>{WEB_A}</ref> It dried.",
        [TOWN],
    ),
    "ref before the full stop": (
        f"It rained. The town flooded<ref>{WEB_A}</ref>. It dried.",
        [("The town flooded.", "The town flooded", [A], [])],
    ),
    "ref after the full stop, without a space behind it": (
        f"The town flooded.<ref>{WEB_A}</ref>It dried.<ref>{WEB_B}</ref>",
        [TOWN, DRIED],
    ),
    "space in front of the ref": (f"The town flooded. <ref>{WEB_A}</ref> It dried.", [TOWN]),
    "ref after a closing quotation mark": (
        f'She said "the town flooded."<ref>{WEB_A}</ref> It dried.',
        [('She said "the town flooded."', 'She said "the town flooded."', [A], [])],
    ),
    "ref in the middle of a sentence": (
        f"The town flooded in 1953,<ref>{WEB_A}</ref> and again in 1962.",
        [("The town flooded in 1953, and again in 1962.", "The town flooded in 1953,", [A], [])],
    ),
    "two marks in a sentence": (
        f"The town flooded in 1953,<ref>{WEB_A}</ref> and again in 1962.<ref>{WEB_B}</ref>",
        [
            ("The town flooded in 1953, and again in 1962.", "The town flooded in 1953,", [A], []),
            ("The town flooded in 1953, and again in 1962.", "and again in 1962.", [B], []),
        ],
    ),
    "two marks together": (
        f"The town flooded.<ref>{WEB_A}</ref><ref>{WEB_B}</ref>",
        [("The town flooded.", "The town flooded.", [A, B], [])],
    ),
    "marks together on either side of the full stop": (
        f"The town flooded<ref>{WEB_A}</ref>.<ref>{WEB_B}</ref>",
        [("The town flooded.", "The town flooded", [A, B], [])],
    ),
    "each mark counts, also of the same source": (
        f"The town flooded.<ref>{WEB_A}</ref><ref>{{{{cite web|url={A}|title=Ay}}}}</ref>",
        [("The town flooded.", "The town flooded.", [A, A], [])],
    ),
    "named ref used again": (
        f"It rained.<ref name=x>{WEB_A}</ref> It flooded.<ref name=x />",
        [RAINED, FLOODED],
    ),
    "named ref used before its definition": (
        f'It rained.<ref name="long name"/> It flooded.<ref name="long name">{WEB_A}</ref>',
        [RAINED, FLOODED],
    ),
    "named ref without quotes and space": (
        f"It rained.<ref name=x>{WEB_A}</ref> It flooded.<ref name=x/>",
        [RAINED, FLOODED],
    ),
    "named ref with an empty body": (
        f"It rained.<ref name='x'></ref> It flooded.<ref name='x'>{WEB_A}</ref>",
        [RAINED, FLOODED],
    ),
    "named ref without a definition": (
        "It rained.<ref name=lost />",
        [("It rained.", "It rained.", [""], [])],
    ),
    "one name in two groups": (
        f"It rained.<ref name=x group=web>{WEB_A}</ref> It flooded.<ref name=x>{WEB_B}</ref>",
        [RAINED, FLOODED_B],
    ),
    "list-defined refs in a template": (
        f"It rained.<ref name=x />\n\n{{{{reflist|30em|refs=\n<ref name=x>{WEB_A}</ref>\n}}}}",
        [RAINED],
    ),
    "list-defined refs in a tag": (
        f"It rained.<ref name=x />\n<references>\n<ref name=x>{WEB_A}</ref>\n</references>",
        [RAINED],
    ),
    "ref defined in an infobox": (
        f"{{{{Infobox town|area=5<ref name=x>{WEB_A}</ref>}}}}\nIt rained.<ref name=x />",
        [("Area: 5", "Area: 5", [A], []), RAINED],
    ),
    "ref defined in a table": (
        f"It rained.<ref name=x />\n{{|\n|-\n| 5 || 6<ref name=x>{WEB_A}</ref>\n|}}\n",
        [RAINED, ("5; 6", "5; 6", [A], [])],
    ),
    "refs of an infobox, a table and a caption": (
        f"{{{{Infobox town|area=5<ref>{WEB_A}</ref>}}}}\n{{| class=wikitable\n! Year\n|-\n"
        f"| It rained.<ref>{WEB_B}</ref>\n|}}\n[[File:Flood.jpg|thumb|It "
        f"flooded.<ref>{WEB_A}</ref>]]"
        "\nIt dried.",
        [
            ("Area: 5", "Area: 5", [A], []),
            ("Year: It rained.", "Year: It rained.", [B], []),
            FLOODED,
        ],
    ),
    "a table in a table": (
        f"{{|\n| a\n{{|\n| b\n|}}\n| It rained.<ref>{WEB_A}</ref>\n|}}\nIt "
        f"dried.<ref>{WEB_B}</ref>",
        [("a; It rained.", "a; It rained.", [A], []), DRIED],
    ),
    "an unclosed table ends at the next heading": (
        f"{{|\n| a\n== Weather ==\nIt dried.<ref>{WEB_B}</ref>",
        [DRIED],
    ),
    "an unclosed template in an unclosed ref is no text": (
        f"It rained.<ref>{{{{cite web|url={A} |title=Rain\n\nIt dried.<ref>{WEB_B}</ref>",
        [RAINED, DRIED],
    ),
    "an unclosed template in a ref is no text up to the next ref": (
        f"It rained.<ref>{{{{cite web|url={A} |title=Rain <ref>{WEB_B}</ref> It dried.",
        [RAINED_AB],
    ),
    "gallery": (
        f"<gallery>\nFile:A.jpg|It rained.<ref name=x>{WEB_A}</ref>\n</gallery>\nIt dried.<ref "
        f"name=x/>",
        [RAINED, ("It dried.", "It dried.", [A], [])],
    ),
    "caption with a link and a ref, then text": (
        f"[[File:Flood.jpg|thumb|upright|The [[town]].<ref>{WEB_A}</ref>]]It "
        f"dried.<ref>{WEB_B}</ref>",
        [("The town.", "The town.", [A], []), DRIED],
    ),
    "comment": (
        f"It rained.<!-- It flooded.<ref>{WEB_A}</ref> --> It dried<!-- x -->.<ref>{WEB_B}</ref>",
        [DRIED],
    ),
    "comment within a ref": (f"It rained.<ref><!-- {B} -->{WEB_A}</ref>", [RAINED]),
    "comment that is not closed": (
        f"It rained.<ref>{WEB_A}</ref> <!-- It flooded.<ref>{WEB_B}</ref>",
        [RAINED],
    ),
    "nowiki": (
        f"It <nowiki>''rained'' <ref>{{{{x}}}}</ref></nowiki> here.<ref>{WEB_B}</ref>",
        [("It ''rained'' <ref>{{x}}</ref> here.", "It ''rained'' <ref>{{x}}</ref> here.", [B], [])],
    ),
    "hidden text": (
        f'It rained.<span style="display:none">Hidden <span>text</span>.<ref>{WEB_A}</ref></span>'
        f" It dried.<ref>{WEB_B}</ref>",
        [DRIED],
    ),
    "sfn to a bibliography": (
        "It rained.{{sfn|Smith|Jones|1999|p=4}}\n== Sources ==\n"
        f"* {{{{cite book|last=Smith|first=A.|last2=Jones|year=1999|title=Rain|url={A}}}}}",
        [RAINED],
    ),
    "sfn with a letter behind the year": (
        "It rained.{{sfn|Smith|1999b}}\n"
        f"* {{{{cite book|last1=Smith|date=May 1999a|title=Sun|url={B}}}}}\n"
        f"* {{{{cite book|last1=Smith|date=May 1999b|title=Rain|url={A}}}}}",
        [RAINED],
    ),
    "sfn by harvid": (
        "It rained.{{sfn|Met Office|2001}}\n"
        f"* {{{{cite web|ref={{{{harvid|Met Office|2001}}}}|title=Rain|url={A}}}}}",
        [RAINED],
    ),
    "sfnm": (
        "It rained.{{sfnm|1a1=Smith|1y=1999|1p=4|2a1=Hill|2y=2003}}\n"
        f"* {{{{cite book|last=Smith|year=1999|title=Rain|url={A}}}}}\n"
        f"* {{{{cite book|last=Hill|year=2003|title=Mud|url={B}}}}}",
        [RAINED_AB],
    ),
    "harvnb within a ref": (
        "It rained.<ref>{{harvnb|Smith|1999|p=4}}; {{harvnb|Hill|2003}}.</ref>\n"
        f"* {{{{cite book|last=Smith|year=1999|title=Rain|url={A}}}}}\n"
        f"* {{{{cite book|last=Hill|year=2003|title=Mud|url={B}}}}}",
        [RAINED_AB],
    ),
    "sfn without its source": (
        "It rained.{{sfn|Smith|1999}}",
        [("It rained.", "It rained.", [""], [])],
    ),
    "r with several names": (
        f"It rained.{{{{r|x|y|p=4}}}}\n<references><ref name=x>{WEB_A}</ref><ref "
        f"name=y>{WEB_B}</ref>"
        "</references>",
        [RAINED_AB],
    ),
    "tag:ref": (
        f"It rained.{{{{#tag:ref|{WEB_A}|name=x}}}} It flooded.<ref name=x />",
        [RAINED, FLOODED],
    ),
    "refn": (f"It rained.{{{{refn|See {WEB_A}.}}}}", [RAINED]),
    "notes are no sources": (
        f"It rained.{{{{efn|As in {WEB_A}}}}} It flooded.<ref group=note>{WEB_B}</ref> It dried."
        f'<ref group="lower-alpha">{WEB_B}</ref>',
        [],
    ),
    "a note beside a source": (f"It rained.{{{{efn|Hard.}}}}<ref>{WEB_A}</ref>", [RAINED]),
    "page numbers behind a mark": (
        f"It rained.<ref name=x>{WEB_A}</ref>{{{{rp|12}}}}<ref>{WEB_B}</ref>",
        [RAINED_AB],
    ),
    "bare URL in a ref": (
        f"It rained.<ref>{A}.</ref> It flooded.<ref>[{B}]</ref> It dried.<ref>[{C} Sea]</ref>",
        [RAINED, FLOODED_B, ("It dried.", "It dried.", [C], [])],
    ),
    "bracketed URL as a mark": (f"It rained.[{A}] It dried.", [RAINED]),
    "link with a title in the text is text": (f"It rained on [{A} the town] today.", []),
    "citation template without a ref": (f"It rained. {WEB_A}", [RAINED]),
    "bundled sources": (f"It rained.<ref>{WEB_A}; see also [{B} Bee]</ref>", [RAINED_AB]),
    "archives are unwrapped": (
        f"It rained.<ref>{{{{cite "
        f"web|url=https://web.archive.org/web/20100102030405/{A}|title=T}}}}</ref>"
        f" It flooded.<ref>[https://archive.today/20130101/{B} T]</ref>",
        [RAINED, FLOODED_B],
    ),
    "a link and its archived copy are one source": (
        f"It rained.<ref>[{A} Ay]. [https://web.archive.org/web/2010/{A} Archived].</ref>"
        f" It flooded.<ref>[{B} Bee] "
        f"{{{{webarchive|url=https://web.archive.org/web/2011/{B}}}}}</ref>",
        [RAINED, FLOODED_B],
    ),
    "an identifier instead of a URL": (
        "It rained.<ref>{{cite journal|title=Rain|doi=10.1000/182}}</ref>",
        [("It rained.", "It rained.", ["https://doi.org/10.1000/182"], [])],
    ),
    "a book without a URL": (
        "It rained.<ref>{{cite book|title=Rain|isbn=1}}</ref> It flooded.<ref>Hill, ''Mud'', p. "
        "3</ref>",
        [("It rained.", "It rained.", [""], []), ("It flooded.", "It flooded.", [""], [])],
    ),
    "failed verification behind a ref": (
        f"It rained.<ref>{WEB_A}</ref>{{{{failed verification|date=May 2019}}}} It "
        f"dried.<ref>{WEB_B}</ref>",
        [("It rained.", "It rained.", [A], ["failed-verification"]), DRIED],
    ),
    "redirects of tags": (
        f"It rained.<ref>{WEB_A}</ref>{{{{Not in citation given}}}}{{{{bsn|date=1}}}}{{{{verify "
        f"source}}}}"
        "{{unreliable source?}}",
        [
            (
                "It rained.",
                "It rained.",
                [A],
                [
                    "failed-verification",
                    "better-source-needed",
                    "verify-source",
                    "unreliable-source",
                ],
            )
        ],
    ),
    "a tag within a ref": (
        f"It rained.<ref>{WEB_A} {{{{dead link|date=May 2019}}}}</ref>",
        [("It rained.", "It rained.", [A], ["dead-link"])],
    ),
    "citation needed": (
        "It rained.{{Citation needed|date=May 2019}} It dried.",
        [("It rained.", "It rained.", [], ["citation-needed"])],
    ),
    "items of lists": (
        f"* Flood of 1953<ref>{WEB_A}</ref>\n* The town flooded again in 1962.<ref>{WEB_B}</ref>",
        [
            ("Flood of 1953", "Flood of 1953", [A], []),
            ("The town flooded again in 1962.", "The town flooded again in 1962.", [B], []),
        ],
    ),
    "a mark after a quotation": (
        f"{{{{quote|The water came at night.|A witness}}}}<ref>{WEB_A}</ref>\n\nIt dried.",
        [("The water came at night.", "The water came at night.", [A], [])],
    ),
    "a mark on a line of its own": (f"It rained.\n\n<ref>{WEB_A}</ref>\nIt dried.", [RAINED]),
    "abbreviations do not end sentences": (
        f"Dr. Hill of St. Ives saw the U.S. Navy at 3 p.m. on the quay.<ref>{WEB_A}</ref>",
        [
            (
                "Dr. Hill of St. Ives saw the U.S. Navy at 3 p.m. on the quay.",
                "Dr. Hill of St. Ives saw the U.S. Navy at 3 p.m. on the quay.",
                [A],
                [],
            )
        ],
    ),
    "links, styles, entities and quantities are text": (
        "The '''[[River Tyne|Tyne]]''' rose&nbsp;by {{convert|5|m|ft}} &amp; "
        f"''flooded'' [[Hexham]]<ref>{WEB_A}</ref>.",
        [
            (
                "The Tyne rose by 5 m & flooded Hexham.",
                "The Tyne rose by 5 m & flooded Hexham",
                [A],
                [],
            )
        ],
    ),
    "nested templates in a ref": (
        f"It rained.<ref>{{{{cite web|url={A}|title={{{{lang|fr|La "
        f"''pluie''}}}}|date={{{{date|2010}}}}}}}}</ref>",
        [RAINED],
    ),
    "a template that spans lines": (
        f"It rained.<ref>{{{{cite web\n | url = {A}\n | title = Ay\n}}}}</ref>\nIt dried.",
        [RAINED],
    ),
    "a ref that is not closed, with a template": (
        f"It rained.<ref>{WEB_A} It flooded.<ref>{WEB_B}</ref>",
        [RAINED, FLOODED_B],
    ),
    "a ref that is not closed, with a URL": (f"It rained.<ref>{A} It flooded.", [RAINED]),
    "a template that is not closed": (
        f"It rained.<ref>{{{{cite web|url={A}|title=Ay</ref> It flooded.<ref>{WEB_B}</ref>",
        [RAINED, FLOODED_B],
    ),
    "capitals": (
        f"It rained.<REF NAME=x>{{{{Cite Web|URL={A}}}}}</REF> It flooded.<Ref Name=x />",
        [RAINED, FLOODED],
    ),
    "URL that is none of the web": (
        "It rained.<ref>[javascript:alert(1) x]</ref> It flooded.<ref>{{cite "
        "web|url=javascript:1}}</ref>",
        [("It rained.", "It rained.", [""], []), ("It flooded.", "It flooded.", [""], [])],
    ),
    "redirect": ("#REDIRECT [[Rain]]", []),
}


@pytest.mark.parametrize("name", CASES)
def test_claims_of_a_corner_case(name):
    wikitext, expected = CASES[name]
    found = extract_claims(wikitext, "Weather", format="wikitext")
    assert [
        (
            claim.claim,
            claim.claim[claim.span[0] : claim.span[1]] if claim.span else "",
            [each.url for each in claim.citations],
            list(claim.tags),
        )
        for claim in found
    ] == expected


@pytest.mark.parametrize("name", CASES)
def test_no_claim_is_lost_or_added_without_items_of_lists(name):
    wikitext, _ = CASES[name]
    every = extract_claims(wikitext, "Weather", format="wikitext")
    some = extract_claims(wikitext, "Weather", format="wikitext", lists=False)
    assert some == [claim for claim in every if claim.kind != "list"]
