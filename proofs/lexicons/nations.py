"""Nationalities and the countries that they belong to."""

from __future__ import annotations

# Adjectives of a nation; names of its country. Underscores stand for spaces.
_TABLE = """
afghan; afghanistan / albanian; albania / algerian; algeria / american; united_states usa u.s u.s.a
america / angolan; angola / argentine argentinian; argentina / armenian; armenia /
australian; australia / austrian; austria / azerbaijani; azerbaijan / bangladeshi; bangladesh /
belarusian; belarus / belgian; belgium / bolivian; bolivia / bosnian; bosnia / brazilian; brazil /
british; united_kingdom uk u.k britain great_britain / bulgarian; bulgaria / cambodian; cambodia /
cameroonian; cameroon / canadian; canada / chilean; chile / chinese; china / colombian; colombia /
congolese; congo / croatian; croatia / cuban; cuba / cypriot; cyprus /
czech; czech_republic czechia / danish; denmark / dutch; netherlands holland /
ecuadorian; ecuador / egyptian; egypt / english; england / estonian; estonia / ethiopian; ethiopia /
filipino philippine; philippines / finnish; finland / french; france / georgian; georgia /
german; germany / ghanaian; ghana / greek; greece / guatemalan; guatemala / haitian; haiti /
honduran; honduras / hungarian; hungary / icelandic; iceland / indian; india /
indonesian; indonesia / iranian persian; iran / iraqi; iraq / irish; ireland / israeli; israel /
italian; italy / jamaican; jamaica / japanese; japan / jordanian; jordan / kazakh; kazakhstan /
kenyan; kenya / korean; korea / kuwaiti; kuwait / latvian; latvia / lebanese; lebanon /
liberian; liberia / libyan; libya / lithuanian; lithuania / luxembourgish; luxembourg /
macedonian; macedonia / malaysian; malaysia / maltese; malta / mexican; mexico /
moldovan; moldova / mongolian; mongolia / moroccan; morocco / namibian; namibia / nepalese; nepal /
new_zealander; new_zealand / nicaraguan; nicaragua / nigerian; nigeria /
north_korean; north_korea / norwegian; norway / pakistani; pakistan / palestinian; palestine /
panamanian; panama / paraguayan; paraguay / peruvian; peru / polish; poland /
portuguese; portugal / qatari; qatar / romanian; romania / russian; russia / rwandan; rwanda /
salvadoran; el_salvador / saudi; saudi_arabia / scottish; scotland / senegalese; senegal /
serbian; serbia / singaporean; singapore / slovak; slovakia / slovene slovenian; slovenia /
somali; somalia / south_african; south_africa / south_korean; south_korea / spanish; spain /
sri_lankan; sri_lanka / sudanese; sudan / swedish; sweden / swiss; switzerland / syrian; syria /
taiwanese; taiwan / tanzanian; tanzania / thai; thailand / tunisian; tunisia / turkish; turkey /
ugandan; uganda / ukrainian; ukraine / uruguayan; uruguay / uzbek; uzbekistan /
venezuelan; venezuela / vietnamese; vietnam / welsh; wales / yemeni; yemen / zambian; zambia /
zimbabwean; zimbabwe
"""
_INCLUDES = {
    "british": ("english", "scottish", "welsh", "irish"),
    "korean": ("north korean", "south korean"),
}


def _read() -> tuple[dict[str, str], dict[str, str]]:
    adjectives: dict[str, str] = {}
    countries: dict[str, str] = {}
    for entry in _TABLE.split("/"):
        adjective, _, country = entry.partition(";")
        forms = [word.replace("_", " ") for word in adjective.split()]
        names = [word.replace("_", " ") for word in country.split()]
        adjectives |= dict.fromkeys(forms, forms[0])
        countries |= dict.fromkeys(names, forms[0])
    return adjectives, countries


#: Nationality -> nation, and country -> nation. A nation is identified by its first adjective.
NATIONALITIES, COUNTRIES = _read()
#: The nationalities and countries of more than one word.
MULTIWORD_NAMES = frozenset(name for name in (*NATIONALITIES, *COUNTRIES) if " " in name)


def overlap(left: str, right: str) -> bool:
    """Return whether one of two nations includes the other."""
    return right in _INCLUDES.get(left, ()) or left in _INCLUDES.get(right, ())
