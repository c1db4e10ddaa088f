import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.verifier.canonical import canonical

CHANGED = [
    ("70,140 visitors", "70140 visitors"),
    ("70\u00a0140 and 70\u2009140 and 70'140", "70140 and 70140 and 70140"),
    ("0.50 of 5.0", "0.5 of 5"),
    ("two hundred and fifty thousand", "250000"),
    ("a dozen eggs and two dozen", "12 eggs and 24"),
    ("half a million euros", "500000 EUR"),
    ("one million or one mile", "1000000 or 5280 ft"),
    ("twenty-one and one hundred and one", "21 and 101"),
    ("the fourteenth, 14th, 1st, 2nd, twenty-first", "the 14th, 14th, first, second, 21st"),
    ("King Olav XIV and Louis XVI's", "King Olav the 14th and Louis the 16th's"),
    ("Olav the Fourteenth", "Olav the 14th"),
    ("Elizabeth II", "Elizabeth the Second"),
    ("1.2bn and 1.2 billion and 1,200 million", "1200000000 and 1200000000 and 1200000000"),
    ("€5m, EUR 5,000,000, 0.005bn euros", "5000000 EUR, 5000000 EUR, 5000000 EUR"),
    ("74 inches or six feet two inches or 6\u20322\u2033", "6.1667 ft or 6.1667 ft or 6.1667 ft"),
    ("500 grams, half a kilogram", "0.5 kg, 0.5 kg"),
    ("10k people", "10000 people"),
    ("3 lakh, 2 crore", "300000, 20000000"),
    ("$5 million", "5000000 dollars"),
    ("US$5m", "5000000 US dollars"),
    ("R$5 million", "5000000 R$"),
    ("£5 and 5 pounds", "5 GBP and 5 pounds"),
    ("five pounds sterling", "5 GBP"),
    ("4 %, 4 percent, 4 per cent, 4pc, four per cent", "4%, 4%, 4%, 4%, 4%"),
    ("4.0 percentage points", "4 percentage points"),
    ("one in five inhabitants", "20% of inhabitants"),
    ("a fifth of inhabitants", "20% of inhabitants"),
    ("1/5 of the town", "20% of the town"),
    ("half of the town", "50% of the town"),
    ("two thirds of voters", "66.7% of voters"),
    ("three quarters of voters", "75% of voters"),
    ("a Fourth of July party", "a --07-04 party"),
    ("−12 and minus 12 degrees and -12", "-12 and -12 degrees and -12"),
    ("4 centimetres", "0.04 m"),
    ("6'2\" tall", "6.1667 ft tall"),
    ("5 miles", "26400 ft"),
    ("8 oz", "0.5 lb"),
    ("90 km/h and 90 kilometres per hour and 90 kph", "90 km/h and 90 km/h and 90 km/h"),
    ("60 mph, 60 miles per hour, 60 miles an hour", "60 mph, 60 mph, 60 mph"),
    ("an hour and a half", "90 minutes"),
    ("1 hour and 30 minutes", "90 minutes"),
    ("two and a half hours", "150 minutes"),
    ("a year and a half", "1.5 years"),
    ("a ten-year-old boy", "a 10 years old boy"),
    ("1.80 m", "1.8 m"),
    ("January 17, 2023", "2023-01-17"),
    ("on the 17th of January 2023", "on 2023-01-17"),
    ("January 2023", "2023-01"),
    ("on 5 May", "on --05-05"),
    ("17/01/2023", "2023-01-17"),
    ("1/17/2023", "2023-01-17"),
    ("3–5 May 2023", "2023-05-03 to 2023-05-05"),
    ("28 May – 3 June 2023", "2023-05-28 – 2023-06-03"),
    ("May 28 to June 3, 2023", "2023-05-28 to 2023-06-03"),
    ("January–March 2023", "2023-01 to 2023-03"),
    ("2:30pm and 2 am", "14:30 and 02:00"),
    ("12 noon", "12:00"),
    ("5-10 km", "5000-10000 m"),
    ("500 to 1 million", "500 to 1000000"),
    ("€5–10 million", "5000000–10000000 EUR"),
    ("in 2010 to 5 million", "in 2010 to 5000000"),
    ("nineteen eighty-four", "1984"),
    ("a 5-kilometre-long road", "a 5000 m long road"),
    ("5 square kilometres", "5 km²"),
    ("the twentieth century", "the 20th century"),
    ("a thousand and one nights", "1001 nights"),
    ("half an hour", "30 minutes"),
    ("2 1/2 hours", "150 minutes"),
    ("July Fourth", "--07-04"),
    ("in October 2023 weeks after", "in 2023-10 weeks after"),
    ("100m sprint", "100 m sprint"),
    ("25 July 1984 at 5 p.m. on 12 km", "1984-07-25 at 17:00 on 12000 m"),
    ("one in five", "one in 5"),
    ("On 24 March. He", "On --03-24. He"),
    ("US $400 million", "400000000 US dollars"),
    ("70,140-strong crowd", "70140-strong crowd"),
    ("11 stone 6 lb", "160 lb"),
    (
        "on 5 May, 6 May, 7 May, 8 May, 9 May, 10 May, 11 May and 12 May",
        "on --05-05, --05-06, --05-07, --05-08, --05-09, --05-10, --05-11 and --05-12",
    ),
    ("1,00,000 rupees and ₹5 crore", "100000 rupees and 50000000 rupees"),
    ("5 m/s and 36 km/h", "18 km/h and 36 km/h"),
    ("(−12) x−3", "(-12) x−3"),
    ("Windows 3.10 and 3.10 m", "Windows 3.10 and 3.1 m"),
    ("five-a-side", "5-a-side"),
    ("from 3 percent to 8 percent", "from 3% to 8%"),
    ("5ft 11in", "5.9167 ft"),
    ("12 September – 3 January 2021", "2020-09-12 – 2021-01-03"),
    ("May 5 million", "May 5000000"),
    ("Paragraph 5.0 and scored 5.0", "Paragraph 5.0 and scored 5"),
    ("2 hours, 5 minutes and 10 seconds", "7510 seconds"),
    ("1 h 30 m", "90 minutes"),
    ("a mile and a half", "7920 ft"),
    ("CHF 3.50 or 3.5 Swiss francs", "3.5 CHF or 3.5 CHF"),
    ("A$20 and 20 Australian dollars", "20 Australian dollars and 20 Australian dollars"),
    ("USD $5m or US$5m dollars", "5000000 US dollars or 5000000 US dollars"),
    ("$5 or 10 euros", "5 dollars or 10 EUR"),
    ("75.5 seconds, 120 seconds, 45 s", "75.5 seconds, 120 seconds, 45 seconds"),
]
UNCHANGED = [
    "Visitors: 70140",
    "ID 00421 and 1.2.3 and ISBN 978-3-16-148410-0",
    "call +44 20 7946 0958 or 192.168.0.1",
    "won 3-2 and 1,2,3 or 1,5 in 1973",
    "A380 B2B H2O 4x4",
    "one of the few, no one, one another",
    "the second round and the first",
    "World War II and Rocky IV",
    "the first half of the match",
    "two-thirds majority",
    "5 miles per gallon",
    "In May 5 people died",
    "01/02/2023",
    "May he go",
    "30 February 2020",
    "the 1920s and the twenties",
    "he has 5G, 3g",
    "a twenty-second pause",
    "a 747-400 and 2004-05 and 2023-10 weeks",
    "12 stone pillars",
    "14.30 h and 1430 hours",
    "a quarter of an hour",
    "2 m 50",
    "1,5 million",
    "in 2004, 300 people",
    "No one came to the second one.",
    "hundreds of thousands of people",
    "World War II, Chapter XII and Act III",
    "version 2.0 and IPv4",
    "51°32′41″N 0°14′24″W",
    "won by 22.10 (142)",
    "the eastern half of the valley",
    "6641 km 2 (large)",
    "one second-half goal",
    "31 April 2021 and 31/04/2021",
    "March on, she may say",
    "",
]
# Pieces of values, so that random texts have many.
_PIECES = (
    "1 2 12 70,140 5.0 0.50 05 2004 2023-01-17 -- - – − , . : / ' one two twenty hundred thousand "
    "million a an and half third second of in to or per cent % percent $ € US$ EUR dollars bn m k "
    "km h s ft in stone pounds hours minutes weeks years old Celsius ° May March 5 14th XIV Louis "
    "the minus people p.m. x \u00a0 ½"
)
PIECES = st.sampled_from(_PIECES.split(" "))
TEXTS = st.one_of(
    st.text(max_size=40),
    st.lists(PIECES, max_size=12).map(" ".join),
    st.lists(st.one_of(PIECES, st.just(" ")), max_size=16).map("".join),
)


@pytest.mark.parametrize(("text", "expected"), CHANGED)
def test_values_take_their_canonical_form(text, expected):
    assert canonical(text).text == expected
    assert canonical(expected).text == expected


@pytest.mark.parametrize("text", UNCHANGED)
def test_what_is_no_value_or_ambiguous_stays(text):
    assert canonical(text).text == text
    assert canonical(text).values == ()


def test_a_part_of_a_value_stands_for_the_whole():
    text = "Norland paid €5m for 70,140 trees on 5 May."
    result = canonical(text)
    assert result.text == "Norland paid 5000000 EUR for 70140 trees on --05-05."
    for form, written in (("5000000 EUR", "€5m"), ("70140", "70,140"), ("--05-05", "5 May")):
        begin = result.text.index(form)
        for span in ((begin, begin + len(form)), (begin + 1, begin + 2)):
            first, last = result.original(*span)
            assert text[first:last] == written
        first, last = result.canonical(text.index(written) + 1, text.index(written) + 2)
        assert result.text[first:last] == form
    begin = result.text.index("trees")
    assert slice(*result.original(begin, begin + 5)) == slice(
        text.index("trees"), text.index(" on")
    )
    assert result.original(0, len(result.text)) == (0, len(text))
    assert result.canonical(0, len(text)) == (0, len(result.text))


def test_values_that_take_two_rounds_keep_their_places():
    result = canonical("It opened on the Fourth of July with 1,200 guests.")
    assert result.text == "It opened on --07-04 with 1200 guests."
    begin = result.text.index("--07-04")
    first, last = result.original(begin, begin + 7)
    assert "It opened on the Fourth of July with"[first:last] == "the Fourth of July"


@given(TEXTS)
def test_canonical_text_is_its_own_canonical_form(text):
    result = canonical(text)
    assert canonical(result.text).text == result.text


@given(TEXTS)
def test_text_outside_values_is_untouched(text):
    result = canonical(text)
    at = new_at = 0
    for begin, end, new_begin, new_end in result.values:
        assert at <= begin < end
        assert text[at:begin] == result.text[new_at:new_begin]
        assert result.original(new_begin, new_end) == (begin, end)
        assert result.canonical(begin, end) == (new_begin, new_end)
        at, new_at = end, new_end
    assert text[at:] == result.text[new_at:]


@given(TEXTS, st.data())
def test_spans_return_to_themselves_or_grow(text, data):
    result = canonical(text)
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, len(text)))
    first, last = result.original(*result.canonical(begin, end))
    assert 0 <= first <= begin <= end <= last <= len(text)
    assert result.canonical(first, last) == result.canonical(begin, end)
