"""Words and phrasings of the invented worlds: names, kinds of entities, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Relation:
    """Something that a kind of entity has one value of, unless it is `many`.

    Attributes
    ----------
    value
        Kind of its values: time, number, place, person, company, school, product, genre,
        profession, country, award, animal or food.
    predicates
        What follows the subject, with ``{v}`` for the value. A time comes with its preposition.
    sentences
        Whole sentences, with ``{s}`` and ``{v}``.
    many
        Whether an entity may have several values, so that another one contradicts nothing.
    low, high
        Bounds of numbers; years of times.
    unit
        Unit of numbers.
    negated
        The predicates of a denial, without a value.
    """

    value: str
    predicates: tuple[str, ...]
    sentences: tuple[str, ...] = ()
    many: bool = False
    low: int = 0
    high: int = 0
    unit: str = ""


FIRST_NAMES = (
    "Ada Aldo Alma Amir Anouk Arvid Asta Benno Bruna Carlo Celia Dagny Darius Delia Dorian Edda "
    "Egon Elif Elio Elsa Emeka Enid Erik Esther Ewa Farid Fatou Femi Flora Franz Gemma Greta Hamid "
    "Hana Harald Hilda Ibrahim Ida Igor Ilse Imani Ines Ivo Jakob Jana Jonas Joan Juno Kaito Karim "
    "Kofi Lars Leila Lena Leo Lidia Linnea Lorenz Lucia Magda Malik Marek Marta Mateo Mei Milan "
    "Mina Miriam Nadia Nils Nina Olga Omar Oskar Otto Paula Pavel Petra Quentin Rafael Rana Rosa "
    "Rufus Ruth Sami Sara Selma Silas Simone Sofia Stefan Sven Tariq Tess Theo Tilda Tomas Ulrik "
    "Vera Viktor Wanda Wilma Yara Yusuf Zara Zeno"
).split()
FEMALE = frozenset(
    "Ada Alma Anouk Asta Bruna Celia Dagny Delia Edda Elif Elsa Enid Esther Ewa Fatou Flora Gemma "
    "Greta Hana Hilda Ida Ilse Imani Ines Jana Joan Juno Leila Lena Lidia Linnea Lucia Magda Marta "
    "Mei Mina Miriam Nadia Nina Olga Paula Petra Rana Rosa Ruth Sara Selma Simone Sofia Tess Tilda "
    "Vera Wanda Wilma Yara Zara".split()
)
NAME_STARTS = (
    "Al Ar Bar Bel Ber Bran Bre Cal Car Cor Cran Dal Dar Del Dor Dun El Ester Fal Fen Fer Gal Gar "
    "Gor Gren Hal Har Hel Hol Ister Jar Kal Kar Kel Kir Kor Lam Lan Len Lin Lor Mal Mar Mel Mer "
    "Mor Nar Nel Nor Oden Ol Or Pel Per Pol Quar Ral Ren Ros Sal San Ser Sil Sol Stan Tal Tam Tar "
    "Tel Tor Ul Val Var Ver Vin Wal War Wen Wes Wil Yar Yel Zan Zel"
).split()
NAME_ENDS = (
    "a aby ack ad agh am an ana ander ara ard aris as ash au ay beck bert berg bo burn by chen da "
    "dal den der dine do don dorf ek el ell en ena er eri es et ev fast feld ford gan ger gor grave "
    "ham hart holm i ia ian ic ick ido in ina ing inger is iss ita ka ke ken kin ko land ley lin lo "
    "lund ly man mark mas mer min mon mont mouth na nell ner ney nik no o ok ola on ona or os ova "
    "owski port quist rath ren ric rin ro row sen shaw sham sk son stad stein ster ston ta tan ter "
    "thal thor ti ton tova tri u und us va vale vall van ver vik ville vin well wick wood worth y zen"
).split()
PLACE_ENDS = (
    "abad ada agne ania anta apur ara aria asco au bach berg borg bourne bridge burg bury by caster "
    "chester church combe cot dale den dorf enza esti field ford gate grad ham haven heim hill holm "
    "hurst ica iers ina ino ioli kirk land leigh ley lin lund mere minster mont mouth ness nitz "
    "ona ora orno port ridge rock rud sele sea shaw stad stead stein stoke stow ton torp ul um "
    "undi vale vik villa ville wall water wick wold worth zell"
).split()
COUNTRY_ENDS = (
    ("ania", "anian"), ("avia", "avian"), ("eria", "erian"), ("istan", "istani"), ("onia", "onian"),
    ("oria", "orian"), ("ovia", "ovian"), ("ul", "uli"), ("mark", "markian"), ("ai", "aian"),
    ("ura", "uran"), ("inea", "inean"), ("esia", "esian"), ("ien", "ienese"), ("iland", "ilandic"),
)  # fmt: skip
REAL_COUNTRIES = (
    ("France", "French"), ("Italy", "Italian"), ("Norway", "Norwegian"), ("Japan", "Japanese"),
    ("Brazil", "Brazilian"), ("Egypt", "Egyptian"), ("Canada", "Canadian"), ("India", "Indian"),
    ("Poland", "Polish"), ("Kenya", "Kenyan"), ("Mexico", "Mexican"), ("Greece", "Greek"),
    ("Turkey", "Turkish"), ("Sweden", "Swedish"), ("Spain", "Spanish"), ("Peru", "Peruvian"),
    ("Portugal", "Portuguese"), ("Ireland", "Irish"), ("Austria", "Austrian"), ("Chile", "Chilean"),
)  # fmt: skip
#: Professions with more general ones, and those they exclude nothing of.
PROFESSIONS = {
    "chemist": "scientist", "physicist": "scientist", "geologist": "scientist",
    "astronomer": "scientist", "botanist": "scientist", "zoologist": "scientist",
    "violinist": "musician", "pianist": "musician", "cellist": "musician", "drummer": "musician",
    "trumpeter": "musician", "novelist": "writer", "poet": "writer", "playwright": "writer",
    "sprinter": "athlete", "swimmer": "athlete", "gymnast": "athlete", "rower": "athlete",
    "cyclist": "athlete", "painter": "artist", "sculptor": "artist", "printmaker": "artist",
    "surgeon": "doctor", "paediatrician": "doctor", "cardiologist": "doctor",
    "barrister": "lawyer", "notary": "lawyer", "admiral": "naval officer", "senator": "politician",
    "mayor": "politician", "minister": "politician", "goalkeeper": "footballer",
    "midfielder": "footballer", "carpenter": "craftsman", "potter": "craftsman",
    "photographer": "", "architect": "", "engineer": "", "nurse": "", "farmer": "", "actor": "",
    "journalist": "", "judge": "", "historian": "", "mathematician": "", "economist": "",
    "singer": "", "dancer": "", "puppeteer": "", "translator": "", "chess player": "",
}  # fmt: skip
#: Things with a more general word.
GENERAL = {
    "guitar": "musical instrument", "harp": "musical instrument", "wheat": "grain", "rye": "grain",
    "beetle": "insect", "moth": "insect", "trout": "fish", "perch": "fish", "owl": "bird",
    "heron": "bird", "oak": "tree", "birch": "tree", "sofa": "furniture", "wardrobe": "furniture",
    "lorry": "vehicle", "tram": "vehicle", "bicycle": "vehicle", "silver": "metal", "copper": "metal",
    "cheese": "food", "bread": "food", "wine": "drink", "beer": "drink", "shoes": "clothing",
    "gloves": "clothing",
}  # fmt: skip
PRODUCTS = (
    "glass bicycles pianos clocks tractors paper cameras carpets cement chocolate lenses locks "
    "matches bells porcelain pumps ropes sails saddles soap steel stoves tea toys turbines umbrellas "
    "violins watches wheels wool wine beer cheese shoes gloves wardrobes sofas lorries trams"
).split()
GENRES = (
    "comedy drama thriller western musical documentary|horror film|war film|crime film|romance|"
    "science fiction film|adventure film"
).replace(" drama", "|drama").replace(" thriller", "|thriller").replace(" western", "|western")
GENRES = tuple(GENRES.replace(" musical", "|musical").replace(" documentary", "|documentary").split("|"))
AWARDS = (
    "Golden Lantern|Silver Anchor|Grand Quill|Northern Star Prize|Laurel Medal|Emerald Prize|"
    "Crystal Bow|Order of the Heron|Founders' Prize|Iris Award|Copper Lion"
).split("|")
ANIMALS = "beetle moth trout perch owl heron frog lizard snail bat otter crab".split()
HABITATS = (
    "freshwater lakes|salt marshes|pine forests|alpine meadows|limestone caves|coral reefs|"
    "river deltas|dry grasslands|tidal pools|mangrove swamps"
).split("|")
FOODS = "algae|seeds|insects|small fish|leaves|fruit|plankton|moss|worms|nectar".split("|")

#: Kinds of entities: the words of a name that follow an invented one, and whether it has "the".
KINDS: dict[str, tuple[tuple[str, ...], bool]] = {
    "person": ((), False),
    "town": (("town", "city", "village"), False),
    "building": (
        ("Theatre", "Museum", "Bridge", "Library", "Castle", "Opera House", "Lighthouse", "Station",
         "Hospital", "Cathedral", "Tower", "Gallery", "Dam", "Market Hall", "Observatory"), True),
    "company": (("Works", "Motors", "Brothers", "Mills", "Industries", "Group", "Press"), False),
    "film": (("film",), False),
    "book": (("novel",), False),
    "river": (("River",), True),
    "school": (("College", "Academy", "Institute", "University"), False),
    "club": (("United", "Rovers", "Athletic", "Wanderers"), False),
    "festival": (("Festival", "Fair", "Regatta", "Marathon", "Carnival"), True),
    "law": (("Act", "Bill", "Treaty", "Statute"), True),
    "strike": (("Strike", "Uprising", "Siege", "Expedition", "Trial"), True),
    "species": (("species",), True),
    "ship": (("ship",), True),
    "band": (("band",), True),
    "mountain": (("mountain",), False),
    "line": (("railway line", "canal", "tunnel"), True),
    "newspaper": (("Gazette", "Herald", "Courier", "Observer"), True),
}  # fmt: skip

T, N, P, W = "time", "number", "place", "person"
RELATIONS: dict[str, dict[str, Relation]] = {
    "person": {
        "born_place": Relation(P, ("was born in {v}", "comes from {v}", "is a native of {v}"),
                               ("The birthplace of {s} is {v}.", "{v} is where {s} was born.")),
        "born": Relation(T, ("was born {v}",), low=1820, high=1995),
        "grew_up": Relation(P, ("grew up in {v}", "spent all of {p} childhood in {v}", "was raised in {v}")),
        "lives": Relation(P, ("now lives in {v}", "is a resident of {v}", "makes {p} home in {v}")),
        "studied": Relation("school", ("studied at {v}", "is a graduate of {v}", "graduated from {v}"), many=True),
        "profession": Relation("profession", ("is {v} by profession", "works as {v}", "earns {p} living as {v}")),
        "nationality": Relation("country", ("is a citizen of {v}", "holds the nationality of {v}")),
        "novels": Relation(N, ("has published {v}", "is the author of {v}", "wrote {v}"), low=2, high=40, unit="novels"),
        "debut": Relation(T, ("made {p} debut {v}", "first appeared in public {v}"), low=1850, high=2015),
        "spouse": Relation(W, ("is married to {v}", "is the spouse of {v}"), ("{s} and {v} are married.",)),
        "teacher": Relation(W, ("was taught by {v}", "was a pupil of {v}"), ("{v} taught {s}.",), many=True),
        "award": Relation("award", ("won the {v}", "received the {v}", "was awarded the {v}"), many=True),
        "children": Relation(N, ("has {v}", "is the parent of {v}"), low=2, high=9, unit="children"),
        "employer": Relation("company", ("works for {v}", "is employed by {v}")),
        "retired": Relation(T, ("retired {v}", "stopped working {v}"), low=1990, high=2020),
    },
    "town": {
        "population": Relation(N, ("has {v}", "is home to {v}", "counts {v}"), low=300, high=900000, unit="inhabitants"),
        "founded": Relation(T, ("was founded {v}", "was established {v}"), low=1100, high=1900),
        "mayor": Relation(W, ("is governed by mayor {v}", "has {v} as its mayor"), ("The mayor of {s} is {v}.", "{v} is the mayor of {s}.")),
        "river": Relation("river", ("lies on {v}", "stands on the banks of {v}")),
        "county": Relation(P, ("lies in the county of {v}", "belongs to the county of {v}"), ("The county to which {s} belongs is {v}.",)),
        "known_for": Relation("product", ("is best known for its {v}", "is chiefly famous for its {v}")),
        "area": Relation(N, ("covers {v}", "has an area of {v}"), low=3, high=900, unit="square kilometres"),
        "schools": Relation(N, ("has {v}", "maintains {v}"), low=2, high=60, unit="schools"),
    },
    "building": {
        "opened": Relation(T, ("opened {v}", "was opened {v}", "was inaugurated {v}"), low=1700, high=2015),
        "renovated": Relation(T, ("was renovated {v}", "was restored {v}"), low=1950, high=2020),
        "architect": Relation(W, ("was designed by {v}", "is the work of the architect {v}"), ("The architect of {s} was {v}.", "{v} designed {s}.")),
        "town": Relation(P, ("stands in {v}", "is located in {v}", "is situated in {v}")),
        "height": Relation(N, ("is {v} high", "rises to {v}"), low=12, high=320, unit="metres"),
        "visitors": Relation(N, ("attracts {v} a year", "receives {v} each year"), low=4000, high=2000000, unit="visitors"),
        "owner": Relation("company", ("is owned by {v}", "belongs to {v}"), ("The owner of {s} is {v}.",)),
        "rooms": Relation(N, ("has {v}", "contains {v}"), low=4, high=400, unit="rooms"),
    },
    "company": {
        "founded": Relation(T, ("was founded {v}", "was established {v}", "was set up {v}"), low=1780, high=2015),
        "founder": Relation(W, ("was founded by {v}", "was started by {v}"), ("The founder of {s} is {v}.", "{v} founded {s}.")),
        "seat": Relation(P, ("is based in {v}", "has its headquarters in {v}"), ("The headquarters of {s} are in {v}.",)),
        "employees": Relation(N, ("employs {v}", "has {v}", "has a workforce of {v}"), low=12, high=90000, unit="people"),
        "product": Relation("product", ("makes {v}", "manufactures {v}", "is a producer of {v}"), many=True),
        "head": Relation(W, ("is led by {v}", "is headed by {v}"), ("The head of {s} is {v}.",)),
        "bankrupt": Relation(T, ("went bankrupt {v}", "became insolvent {v}"), low=1900, high=2020),
    },
    "film": {
        "released": Relation(T, ("was released {v}", "came out {v}"), low=1920, high=2022),
        "director": Relation(W, ("was directed by {v}", "is a film by the director {v}"), ("The director of {s} is {v}.", "{v} directed {s}.")),
        "writer": Relation(W, ("was written by {v}", "has a screenplay by {v}"), ("{v} wrote the screenplay of {s}.",)),
        "composer": Relation(W, ("has music by {v}",), ("{v} composed the music of {s}.", "The music of {s} is by {v}.")),
        "star": Relation(W, ("stars {v}", "has {v} in the leading role"), many=True),
        "filmed": Relation(P, ("was filmed in {v}", "was shot in {v}")),
        "set": Relation(P, ("is set in {v}", "takes place in {v}")),
        "length": Relation(N, ("is {v} long", "runs for {v}"), low=62, high=210, unit="minutes"),
        "genre": Relation("genre", ("is a {v}", "belongs to the genre {v}")),
    },
    "book": {
        "published": Relation(T, ("was published {v}", "appeared {v}"), low=1800, high=2020),
        "author": Relation(W, ("was written by {v}", "is by {v}"), ("The author of {s} is {v}.", "{v} is the author of {s}.")),
        "translator": Relation(W, ("was translated by {v}",), ("{v} translated {s}.",)),
        "pages": Relation(N, ("has {v}", "is {v} long"), low=90, high=1200, unit="pages"),
        "copies": Relation(N, ("has sold {v}",), ("{v} of {s} have been sold.",), low=900, high=3000000, unit="copies"),
        "set": Relation(P, ("is set in {v}", "takes place in {v}")),
        "dedicated": Relation(W, ("is dedicated to {v}",)),
    },
    "river": {
        "length": Relation(N, ("is {v} long", "has a length of {v}"), low=18, high=1900, unit="kilometres"),
        "source": Relation(P, ("rises near {v}", "has its source near {v}")),
        "mouth": Relation(P, ("reaches the sea at {v}", "has its mouth at {v}")),
        "bridges": Relation(N, ("is crossed by {v}",), low=3, high=80, unit="bridges"),
        "flooded": Relation(T, ("last flooded {v}",), low=1900, high=2020),
    },
    "school": {
        "founded": Relation(T, ("was founded {v}", "was established {v}"), low=1400, high=2000),
        "students": Relation(N, ("has {v}", "teaches {v}"), low=120, high=60000, unit="students"),
        "town": Relation(P, ("is located in {v}", "has its campus in {v}")),
        "head": Relation(W, ("is led by {v}",), ("The rector of {s} is {v}.",)),
        "library": Relation(N, ("has a library of {v}",), low=2000, high=4000000, unit="volumes"),
    },
    "club": {
        "founded": Relation(T, ("was founded {v}", "was formed {v}"), low=1860, high=1990),
        "coach": Relation(W, ("is coached by {v}", "is trained by {v}"), ("The coach of {s} is {v}.", "{v} coaches {s}.")),
        "captain": Relation(W, ("is captained by {v}",), ("The captain of {s} is {v}.",)),
        "titles": Relation(N, ("has won {v}", "holds {v}"), low=2, high=40, unit="league titles"),
        "town": Relation(P, ("plays in {v}", "has its home in {v}")),
        "relegated": Relation(T, ("was relegated {v}",), low=1950, high=2020),
    },
    "festival": {
        "first": Relation(T, ("was first held {v}", "took place for the first time {v}"), low=1850, high=2015),
        "place": Relation(P, ("is held in {v}", "takes place in {v}")),
        "visitors": Relation(N, ("draws {v} each year", "attracts {v} each year"), low=600, high=900000, unit="visitors"),
        "founder": Relation(W, ("was started by {v}", "was founded by {v}"), ("{v} founded {s}.",)),
        "days": Relation(N, ("lasts {v}", "goes on for {v}"), low=2, high=30, unit="days"),
        "sponsor": Relation("company", ("is sponsored by {v}",), ("The sponsor of {s} is {v}.",)),
    },
    "law": {
        "passed": Relation(T, ("was passed {v}", "was adopted {v}"), low=1780, high=2010),
        "repealed": Relation(T, ("was repealed {v}",), low=1900, high=2022),
        "author": Relation(W, ("was drafted by {v}",), ("{v} drafted {s}.",)),
        "votes": Relation(N, ("received {v}", "was supported by {v}"), low=40, high=600, unit="votes"),
        "articles": Relation(N, ("has {v}", "consists of {v}"), low=3, high=90, unit="articles"),
    },
    "strike": {
        "began": Relation(T, ("began {v}", "started {v}"), low=1700, high=1990),
        "place": Relation(P, ("took place in {v}", "happened in {v}")),
        "leader": Relation(W, ("was led by {v}",), ("The leader of {s} was {v}.", "{v} led {s}.")),
        "people": Relation(N, ("involved {v}",), low=20, high=90000, unit="people"),
        "weeks": Relation(N, ("lasted {v}", "went on for {v}"), low=2, high=60, unit="weeks"),
    },
    "species": {
        "habitat": Relation("habitat", ("lives in {v}", "is found in {v}", "inhabits {v}")),
        "food": Relation("food", ("feeds mainly on {v}", "lives chiefly on {v}")),
        "described": Relation(T, ("was first described {v}",), low=1760, high=2010),
        "describer": Relation(W, ("was first described by {v}", "was discovered by {v}"), ("{v} was the first to describe {s}.",)),
        "length": Relation(N, ("reaches a length of {v}", "grows to {v}"), low=2, high=90, unit="centimetres"),
    },
    "ship": {
        "launched": Relation(T, ("was launched {v}",), low=1840, high=2010),
        "sank": Relation(T, ("sank {v}", "went down {v}"), low=1880, high=2015),
        "builder": Relation("company", ("was built by {v}",), ("The builder of {s} was {v}.", "{v} built {s}.")),
        "captain": Relation(W, ("was commanded by {v}",), ("The captain of {s} was {v}.",)),
        "crew": Relation(N, ("had a crew of {v}", "carried a crew of {v}"), low=12, high=900, unit="sailors"),
        "port": Relation(P, ("had its home port in {v}", "was registered in {v}")),
    },
    "band": {
        "formed": Relation(T, ("was formed {v}", "came together {v}"), low=1955, high=2018),
        "town": Relation(P, ("comes from {v}", "is from {v}")),
        "singer": Relation(W, ("has {v} as its singer",), ("The singer of {s} is {v}.", "{v} sings in {s}.")),
        "albums": Relation(N, ("has released {v}", "has recorded {v}"), low=2, high=25, unit="albums"),
        "split": Relation(T, ("broke up {v}", "split up {v}"), low=1970, high=2022),
    },
    "mountain": {
        "height": Relation(N, ("is {v} high", "has a height of {v}"), low=400, high=7900, unit="metres"),
        "climbed": Relation(T, ("was first climbed {v}",), low=1790, high=1990),
        "climber": Relation(W, ("was first climbed by {v}",), ("{v} was the first to climb {s}.",)),
        "country": Relation("country", ("lies in {v}", "is situated in {v}")),
        "huts": Relation(N, ("has {v}",), low=2, high=14, unit="huts"),
    },
    "line": {
        "opened": Relation(T, ("was opened {v}", "was completed {v}"), low=1780, high=2015),
        "closed": Relation(T, ("was closed {v}", "was shut down {v}"), low=1920, high=2022),
        "length": Relation(N, ("is {v} long", "has a length of {v}"), low=2, high=900, unit="kilometres"),
        "from": Relation(P, ("starts in {v}", "begins in {v}")),
        "to": Relation(P, ("ends in {v}", "terminates in {v}")),
        "stations": Relation(N, ("has {v}",), low=3, high=60, unit="stops"),
        "operator": Relation("company", ("is operated by {v}",), ("The operator of {s} is {v}.", "{v} operates {s}.")),
    },
    "newspaper": {
        "founded": Relation(T, ("was founded {v}", "first appeared {v}"), low=1790, high=2000),
        "editor": Relation(W, ("is edited by {v}",), ("The editor of {s} is {v}.", "{v} edits {s}.")),
        "town": Relation(P, ("is published in {v}", "appears in {v}")),
        "readers": Relation(N, ("has {v}", "reaches {v}"), low=900, high=2000000, unit="readers"),
        "owner": Relation("company", ("is owned by {v}", "belongs to {v}")),
    },
}  # fmt: skip

#: Deeds with a direction: past tense, participle with preposition, whether two companies, and what
#: the noun phrase of the deed is. A swap contradicts.
DEEDS = {
    "company": (("bought", "bought by"), ("took over", "taken over by"), ("sued", "sued by"),
                ("absorbed", "absorbed by"), ("rescued", "rescued by"), ("supplied", "supplied by"),
                ("financed", "financed by")),
    "person": (("defeated", "defeated by"), ("succeeded", "succeeded by"), ("hired", "hired by"),
               ("taught", "taught by"), ("painted", "painted by"), ("accused", "accused by"),
               ("betrayed", "betrayed by"), ("rescued", "rescued by"), ("interviewed", "interviewed by"),
               ("dismissed", "dismissed by"), ("adopted", "adopted by"), ("trained", "trained by"),
               ("replaced", "replaced by"), ("wounded", "wounded by"), ("persuaded", "persuaded by")),
    "club": (("beat", "beaten by"), ("eliminated", "eliminated by"), ("overtook", "overtaken by")),
    "town": (("besieged", "besieged by"), ("conquered", "conquered by"), ("annexed", "annexed by")),
}  # fmt: skip
#: Relations between two that hold both ways.
MUTUAL = {
    "person": ("is a cousin of", "shares a flat with", "was at school with", "is a neighbour of",
               "went to war together with", "wrote a book together with"),
    "company": ("competes with", "merged with", "signed a contract with"),
    "town": ("borders on", "is twinned with", "lies opposite"),
    "club": ("shares a stadium with", "is the local rival of"),
}  # fmt: skip
#: Deeds that happen or not: an affirmation (past), its denials, and what is only planned or said.
EVENTS = {
    "building": (("was demolished", "demolished"), ("was destroyed by fire", "destroyed by fire"),
                 ("was sold to the state", "sold to the state"), ("was rebuilt", "rebuilt"),
                 ("was listed as a monument", "listed as a monument"), ("was flooded", "flooded")),
    "law": (("was passed by parliament", "passed by parliament"), ("was signed by the president", "signed by the president"),
            ("was put to a vote", "put to a vote"), ("was struck down by the court", "struck down by the court")),
    "film": (("was shown at the festival", "shown at the festival"), ("was banned", "banned"),
             ("was nominated for a prize", "nominated for a prize"), ("was dubbed", "dubbed")),
    "line": (("was electrified", "electrified"), ("was extended to the coast", "extended to the coast"),
             ("was privatised", "privatised"), ("was closed to passengers", "closed to passengers")),
    "company": (("was nationalised", "nationalised"), ("was fined", "fined"), ("was split up", "split up"),
                ("was listed on the stock exchange", "listed on the stock exchange")),
    "ship": (("was captured", "captured"), ("was salvaged", "salvaged"), ("was scrapped", "scrapped")),
    "person": (("was arrested", "arrested"), ("was elected to parliament", "elected to parliament"),
               ("was knighted", "knighted"), ("was convicted of fraud", "convicted of fraud"),
               ("was promoted", "promoted"), ("was invited to the congress", "invited to the congress")),
    "club": (("was promoted to the first division", "promoted to the first division"), ("was disqualified", "disqualified"),
             ("was invited to the cup", "invited to the cup")),
    "school": (("was merged", "merged"), ("was accredited", "accredited"), ("was evacuated", "evacuated")),
    "newspaper": (("was banned", "banned"), ("was sold", "sold"), ("was sued for libel", "sued for libel")),
}  # fmt: skip
#: Things that an entity has or lacks.
FEATURES = {
    "town": ("a railway station", "an airport", "a hospital", "a harbour", "a theatre", "a university", "a newspaper of its own"),
    "building": ("a lift", "a café", "a car park", "a bell tower", "a dome", "an organ"),
    "company": ("a works council", "a branch abroad", "a research department", "a pension fund"),
    "school": ("a swimming pool", "a boarding house", "a chapel", "a faculty of law"),
    "ship": ("a radio", "a doctor on board", "a sail", "a swimming pool"),
    "person": ("a driving licence", "a brother", "a university degree", "a pilot's licence"),
    "river": ("a dam", "an island", "a waterfall"),
    "mountain": ("a cable car", "a glacier", "a summit cross"),
}
#: Words that contradict each other in the same frame, with the kinds of entities that have them.
OPPOSITES = (
    ("company", ("made a profit", "made a loss"), ("in {y}",)),
    ("company", ("raised its prices", "lowered its prices"), ("in {y}",)),
    ("company", ("gained customers", "lost customers"), ("in {y}",)),
    ("company", ("expanded", "shrank"), ("in {y}", "after {y}")),
    ("town", ("grew", "shrank"), ("between {y} and {z}",)),
    ("town", ("won the lawsuit", "lost the lawsuit"), ("in {y}",)),
    ("club", ("won the cup final", "lost the cup final"), ("of {y}",)),
    ("club", ("moved up a division", "moved down a division"), ("in {y}",)),
    ("person", ("accepted the post", "declined the post"), ("in {y}",)),
    ("person", ("voted for the reform", "voted against the reform"), ("in {y}",)),
    ("person", ("confirmed the report", "denied the report"), ("in {y}",)),
    ("person", ("passed the examination", "failed the examination"), ("in {y}",)),
    ("person", ("praised the plan", "criticised the plan"), ("in {y}",)),
    ("person", ("died a rich man", "died in poverty"), ("in {y}",)),
    ("person", ("supported the union", "opposed the union"), ("in {y}",)),
    ("building", ("was closed to visitors", "was opened to visitors"), ("in {y}",)),
    ("building", ("survived the earthquake", "collapsed in the earthquake"), ("of {y}",)),
    ("law", ("abolished the tax", "introduced the tax"), ("on salt", "on land", "on windows")),
    ("law", ("was accepted by the upper house", "was rejected by the upper house"), ("in {y}",)),
    ("line", ("is above ground", "runs underground"), ("for its whole length",)),
    ("river", ("flows to the north", "flows to the south"), ("", "for most of its course")),
    ("river", ("froze over", "stayed free of ice"), ("in the winter of {y}",)),
    ("film", ("was praised by critics", "was panned by critics"), ("", "on its release")),
    ("film", ("was a commercial success", "was a commercial failure"), ("", "at home")),
    ("book", ("has a happy ending", "ends tragically"), ("",)),
    ("species", ("is active by day", "is nocturnal"), ("",)),
    ("species", ("is common", "is rare"), ("in the north", "in the mountains")),
    ("species", ("is increasing in number", "is in decline"), ("",)),
    ("ship", ("arrived early", "arrived late"), ("on its first voyage",)),
    ("mountain", ("is covered with snow all year", "is free of snow in summer"), ("",)),
    ("school", ("admits only girls", "admits only boys"), ("",)),
    ("festival", ("is held indoors", "is held in the open air"), ("",)),
    ("newspaper", ("appears in the morning", "appears in the evening"), ("",)),
)
#: Ways to say the same, both directions.
PARAPHRASES = (
    ("company", "went bankrupt {t}", "became insolvent {t}"),
    ("company", "moved its headquarters {t}", "relocated its head office {t}"),
    ("person", "died at home {t}", "passed away in {p} own house {t}"),
    ("person", "left the army {t}", "ceased to be a soldier {t}"),
    ("person", "gave up smoking {t}", "stopped smoking {t}"),
    ("building", "was destroyed by fire {t}", "burned down {t}"),
    ("building", "was pulled down {t}", "was demolished {t}"),
    ("line", "was closed to passengers {t}", "has carried no passengers since {u}"),
    ("law", "came into force {t}", "has been in effect since {u}"),
    ("film", "was forbidden by the censors {t}", "was banned {t}"),
    ("town", "has had a mayor since {u}", "got its first mayor {t}"),
    ("town", "became part of the county {t}", "was incorporated into the county {t}"),
    ("mountain", "has been a nature reserve since {u}", "was placed under protection {t}"),
    ("ship", "ran aground {t}", "got stuck on a sandbank {t}"),
    ("club", "moved to a new stadium {t}", "left its old ground {t}"),
    ("school", "has admitted women since {u}", "opened its doors to women {t}"),
    ("newspaper", "ceased publication {t}", "printed its last issue {t}"),
    ("band", "gave its last concert {t}", "has not played in public since {u}"),
)
#: Kinds of entities that have something in numbers, of which a part does something.
GROUPS = (
    ("school", "students", ("study law", "study medicine", "study music", "live on the campus", "play chess", "receive a grant")),
    ("company", "employees", ("work part-time", "belong to a union", "work from home", "come from abroad", "own shares")),
    ("town", "houses", ("are built of wood", "have a garden", "stand empty", "date from before the war")),
    ("club", "players", ("are under twenty", "come from the region", "have another job", "speak two languages")),
    ("ship", "cabins", ("have a window", "are occupied", "have a bath")),
    ("newspaper", "readers", ("live abroad", "are women", "subscribe online")),
    ("band", "songs", ("are in English", "are instrumental", "were written by the drummer")),
    ("building", "rooms", ("are open to visitors", "are heated", "have painted ceilings")),
)
#: Comparatives and superlatives of numbers by relation.
DEGREES = {
    ("town", "population"): ("larger", "smaller", "largest", "smallest", "town"),
    ("building", "height"): ("taller", "lower", "tallest", "lowest", "building"),
    ("building", "opened"): ("newer", "older", "newest", "oldest", "building"),
    ("company", "employees"): ("bigger", "smaller", "biggest", "smallest", "employer"),
    ("company", "founded"): ("younger", "older", "youngest", "oldest", "company"),
    ("film", "length"): ("longer", "shorter", "longest", "shortest", "film"),
    ("river", "length"): ("longer", "shorter", "longest", "shortest", "river"),
    ("school", "founded"): ("younger", "older", "youngest", "oldest", "school"),
    ("mountain", "height"): ("higher", "lower", "highest", "lowest", "mountain"),
    ("line", "length"): ("longer", "shorter", "longest", "shortest", "line"),
    ("person", "born"): ("younger", "older", "youngest", "oldest", "person"),
    ("club", "founded"): ("younger", "older", "youngest", "oldest", "club"),
    ("species", "length"): ("longer", "shorter", "longest", "shortest", "species"),
    ("book", "pages"): ("longer", "shorter", "longest", "shortest", "book"),
    ("festival", "days"): ("longer", "shorter", "longest", "shortest", "festival"),
}
#: Kinship: what the first is to the second, and the second to the first, by gender (male, female).
KINSHIP = (
    (("son", "daughter"), ("father", "mother")),
    (("father", "mother"), ("son", "daughter")),
    (("grandson", "granddaughter"), ("grandfather", "grandmother")),
    (("nephew", "niece"), ("uncle", "aunt")),
    (("uncle", "aunt"), ("nephew", "niece")),
    (("brother", "sister"), ("brother", "sister")),
    (("husband", "wife"), ("husband", "wife")),
)
NEUTRAL_KIN = {
    "son": "child", "daughter": "child", "father": "parent", "mother": "parent",
    "grandson": "grandchild", "granddaughter": "grandchild", "grandfather": "grandparent",
    "grandmother": "grandparent", "brother": "sibling", "sister": "sibling", "husband": "spouse",
    "wife": "spouse", "nephew": "relative", "niece": "relative", "uncle": "relative",
    "aunt": "relative",
}  # fmt: skip
UNITS = (
    ("kilometres", "metres", 1000), ("metres", "centimetres", 100), ("hours", "minutes", 60),
    ("minutes", "seconds", 60), ("tonnes", "kilograms", 1000), ("kilograms", "grams", 1000),
    ("weeks", "days", 7), ("years", "months", 12), ("days", "hours", 24), ("dozen eggs", "eggs", 12),
)  # fmt: skip
