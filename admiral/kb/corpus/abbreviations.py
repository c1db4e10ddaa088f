"""Abbreviations of English by what may follow them, and other words that tell sentences apart.

All are without the last full stop, and in lower case where case does not matter.
"""

from __future__ import annotations

from proofs.logic.words import word_list

# No sentence ends after these.
NEVER = word_list("vs viz a.k.a aka eg e.g ie i.e cf messrs mme mlle mmes mlles msgr")
# With a capital, these precede a name.
BEFORE_NAME = word_list(
    "mr mrs ms mx dr drs prof profs rev revs hon gov govs sen sens rep reps pres gen gens col cols "
    "maj capt cpt cmdr cdr comdr lt lieut sgt ssgt cpl pvt pfc adm brig cmdt insp det supt amb "
    "atty treas fr ven rt ste mt mts ft pte flt wg sqn const sra srta dra dn frs"
)
# These precede a number, a numeral or a letter; with a capital, also a name.
BEFORE_NUMBER = word_list(
    "no nos nr vol vols pp fig figs eq eqs eqn sec secs sect ch chs chap art arts op pt pts ep "
    "eps fl pop tel fax ext approx ca max min avg cat inv par para paras pl pls tab ser iss bk "
    "bks ver app cl rm apt ste ref refs est alt elev lat lon ff ed"
)
# With a capital, these are months and days.
DATES = word_list(
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun"
)
# Between two numbers: "5 ft. 6 in."
UNITS = word_list("ft in lb lbs oz hr hrs min mins sec secs mi yd yds st deg h m s")
# These occur both at the end of a sentence and within one.
EITHER = word_list(
    "st sts sq inc ltd co corp bros plc llc jr sr esq al dept univ assn ave blvd rd hwy ph.d m.d "
    "b.a m.a b.s m.s d.c u.s u.k u.n e.u b.c a.d eds trans intl natl govt dist div gmbh mfg"
)
# In lower case these are words or units, which end sentences as others do.
WORDS = word_list("ms rep reps ft st cat tab par app alt art")
# After a time of day, these go on: "5 p.m. Monday".
CLOCK = word_list("a.m p.m")
AFTER_CLOCK = word_list(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May "
    "June July August September October November December Eastern Central Pacific Mountain "
    "Greenwich Atlantic EST EDT CST CDT PST PDT MST MDT GMT UTC BST CET CEST IST JST AEST ET PT"
)
COMPANY_SUFFIXES = word_list("Inc Ltd Co Corp LLC Plc PLC GmbH AG SA")
# Common first words of sentences.
STARTERS = word_list(
    "a after although an and as at before both but by during each for from he her his however i if "
    "in it its later many most no of on one other our she since so some such that the their then "
    "there these they this those though to two under until we what when where while who with you "
    "your"
)
# What a numeral or a letter follows: "World War I", "vitamin C".
NUMBERED_THINGS = word_list(
    "war part act chapter book volume type class phase division level stage grade title schedule "
    "group section article appendix table figure mark series category tier zone region army corps "
    "vitamin plan hepatitis option team item point exhibit size letter block gate terminal channel "
    "model vessel unit area serie league variant column row panel annex step line"
)
RULERS = word_list(
    "Henry Charles George Louis Elizabeth Edward William Richard James Philip Peter Alexander "
    "Nicholas Frederick Francis Ferdinand Gustav Gustavus Christian Leopold Albert Alfonso Baldwin "
    "Catherine Mary Napoleon Otto Pius Paul Gregory Clement Innocent Urban Benedict Leo Boniface "
    "Ramesses Ptolemy Cleopatra Darius Xerxes Justinian Constantine Theodosius Umberto Carol "
    "Michael Pedro Joseph Maximilian Rudolf Robert David Malcolm Stephen John Harald Olaf Canute"
)
# Kinds of things whose name may end in an exclamation mark: "the musical Oliver! Tickets".
TYPES_OF_NAMES = word_list(
    "firm company brand chain shop store show series film movie musical play opera song single "
    "album band group duo game magazine newspaper website site book novel programme program app "
    "label channel network franchise party festival restaurant project"
)
NAMED_WITH_MARK = word_list(
    "Yahoo Jeopardy Oklahoma Wham Airplane Oliver Hello Ahoy Mia Panic Joomla"
)
# After a question or an exclamation in quotes and a name.
SAYING = word_list(
    "asked said cried replied answered shouted exclaimed whispered called added wondered yelled "
    "screamed demanded inquired enquired asks says cries replies shouts remarked muttered begged"
)
GERMAN_MONTHS = word_list(
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember"
)
