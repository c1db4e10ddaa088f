"""What exact comparison says of twins of claims, of which one is true, and where it is silent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.verifier.exact_comparison import ExactVerifier, compare
from tests.proofs.helpers import claims, evidence
from tests.proofs.verifier.fixed_verifier import FixedVerifier

TRUE, FALSE = "entailment", "contradiction"

# The title, the sentence, a true claim and a false one.
TWINS = {
    "number with separators": ("Ostrel", "Ostrel is a fishing port with 7,418 inhabitants.",
        "Ostrel has 7418 inhabitants.", "Ostrel has 7,481 inhabitants."),
    "number in words": ("", "Ines Varga wrote fourteen operas and two symphonies.",
        "Ines Varga wrote 14 operas.", "Ines Varga wrote two operas."),
    "unit": ("Gantry Tunnel", "It is 4,000 metres long.", "The Gantry Tunnel is 4 km long.",
        "The Gantry Tunnel is 6 km long."),
    "percentage": ("", "The tax is 7.5 percent.", "The tax is 7.5%.", "The tax is 5.7%."),
    "decade": ("Ines Varga", "She was born in 1847 in Pest.", "Ines Varga was born in the 1840s.",
        "Ines Varga was born in the 1850s."),
    "date in two orders": ("", "Ines Varga was born on March 9, 1847.",
        "Ines Varga was born on 9 March 1847.", "Ines Varga was born on 8 March 1847."),
    "years in brackets": ("Ines Varga", "Ines Varga (9 March 1847 – 2 April 1911) was a composer.",
        "Ines Varga died in 1911.", "Ines Varga died in 1912."),
    "duration": ("Bertold II", "He ruled from 1203 to 1217.", "Bertold II ruled for 14 years.",
        "Bertold II ruled for 24 years."),
    "more than": ("", "The strike was joined by 640 miners.",
        "More than 600 miners joined the strike.", "Fewer than 600 miners joined the strike."),
    "between": ("", "The dam was completed in 1936.",
        "The dam was completed between 1930 and 1940.",
        "The dam was completed between 1940 and 1950."),
    "owner in the title": ("Hollin Tower", "Its roof was finished in 1934.",
        "The roof of Hollin Tower was finished in 1934.",
        "The roof of Hollin Tower was finished in 1931."),
    "half a year": ("Orla Siege", "It lasted from March to November 1642.",
        "The Orla Siege lasted more than half a year.",
        "The Orla Siege lasted less than half a year."),
    "before a year": ("", "The dam was completed in 1936.", "The dam was completed before 1940.",
        "The dam was completed after 1940."),
    "dates joined by while": ("", "The mill opened in 1702 while the inn opened in 1760.",
        "The mill opened earlier than the inn.", "The mill opened later than the inn."),
    "place": ("", "Torvik came third.", "Torvik came third.", "Torvik came second."),
    "negation": ("", "The treaty was never signed.", "The treaty was never signed.",
        "The treaty was signed."),
    "negated claim": ("", "The treaty was signed in Ghent.", "The treaty was signed.",
        "The treaty was not signed."),
    "antonym": ("", "Torvik United lost the replay.", "Torvik United lost the replay.",
        "Torvik United won the replay."),
    "passive": ("", "Norrel was bought by Hask in 1988.", "Hask bought Norrel.",
        "Norrel bought Hask."),
    "other currency": ("", "The crown gave the abbey 4 million euros.",
        "The abbey was given €4m by the crown.", "The crown gave the abbey 4 million yen."),
    "scale in letters": ("The Ferry", "It cost €2.5bn.",
        "The Ferry cost 2,500 million euros.", "The Ferry cost €2.5 million."),
    "other unit": ("", "The sluice is 60 cm thick.", "The sluice is 0.6 metres thick.",
        "The sluice is 60 metres thick."),
    "time of day": ("", "The ferry leaves Ostrel at 15:45.", "The ferry leaves Ostrel at 3:45 p.m.",
        "The ferry leaves Ostrel at 5:45 p.m."),
    "share": ("", "One in four residents of Ostrel is a sailor.",
        "25% of the residents of Ostrel are sailors.",
        "Half of the residents of Ostrel are sailors."),
    "just under": ("", "Just under 300 guests came to the fair.",
        "Fewer than 300 guests came to the fair.", "More than 300 guests came to the fair."),
    "change": ("Ostrel", "The toll rose from 3 to 5 euros in 1998.",
        "The toll rose by 2 euros in 1998.", "The toll rose by 5 euros in 1998."),
    "end of a change": ("Ostrel", "The toll fell from 5 to 3 euros in 1998.",
        "The toll fell to 3 euros in 1998.", "The toll fell to 5 euros in 1998."),
    "percentage points": ("", "The tax rose from 4% to 7%.", "The tax rose by 3 percentage points.",
        "The tax rose by 4 percentage points."),
    "within a period": ("Ostrel Inn", "The Ostrel Inn was closed from May 1931 until June 1934.",
        "The Ostrel Inn was closed in 1932.", "The Ostrel Inn was open in August 1933."),
    "years later": ("Ines Varga", "Varga retired in 1899. She died in Pest twelve years later.",
        "Ines Varga died in 1911.", "Ines Varga died in 1912."),
    "subject joined by and": ("Ines Varga", "She studied in Vienna and died in 1911.",
        "Ines Varga died in 1911.", "Ines Varga died in 1921."),
}  # fmt: skip

SILENT = {
    "nothing in common": ("", "The dam was completed in 1936.", "Ines Varga wrote 14 operas."),
    "hedge": ("", "The dam was reportedly completed in 1936.", "The dam was completed in 1936."),
    "plan": ("", "The dam was planned to be completed in 1936.", "The dam was completed in 1940."),
    "rounded number": ("", "The fair sold 3,120,000 tickets.", "The fair sold 3 million tickets."),
    "another subject": ("", "The brother of Ines was born in 1840.", "Ines was born in 1847."),
    "clause of another": ("", "Ines met Hugo, who died in 1920.", "Ines died in 1911."),
    "alternative": ("", "The dam was completed in 1936 or 1937.", "The dam was completed in 1936."),
    "any of a kind": ("", "A bridge was built in 1901.", "A bridge was built in 1902."),
    "noun or verb": ("Ada Quill", "Ada Quill trains dogs and cooks.", "Ada Quill trains cooks."),
    "compound noun": ("", "Lena Orr is a theatre critic.", "Lena Orr is a theatre."),
    "not only": ("", "The treaty was not only signed.", "The treaty was signed."),
    "restricted negation": ("", "The film was not shown in Ghent.", "The film was shown."),
    "narrower superlative": (
        "",
        "Mount Skell is the highest peak in northern Ardia.",
        "Mount Skell is the highest peak in Ardia.",
    ),
    "one of": ("", "Skell is one of the highest peaks.", "Skell is the second highest peak."),
    "verb of two ways": ("", "The baker helped the miller.", "The miller helped the baker."),
    "several events": ("", "Torvik won two cups in Ghent.", "Torvik won three cups."),
    "question": ("", "Was the dam completed in 1936?", "The dam was completed in 1936."),
    "other change": ("", "The toll rose from 3 to 5 euros.", "The toll rose by 4 to 5 euros."),
    "later than an unknown date": ("Ines Varga", "She died two years later.", "She died in 1902."),
    "date of another": ("", "Ines is a child of Hugo, born in 1820.", "Ines was born in 1820."),
    "double negation": ("", "The plan is not without faults.", "The plan is without faults."),
    "another of": ("", "The inn is at the mouth of the Vell.", "The inn is at the Vell."),
}  # fmt: skip


@pytest.mark.parametrize("kind", TWINS)
def test_twins(kind):
    title, sentence, true, false = TWINS[kind]
    found = [compare(claim, [(title, sentence)]) for claim in (true, false)]
    assert [comparison and comparison.label for comparison in found] == [TRUE, FALSE]


@pytest.mark.parametrize("kind", SILENT)
def test_silence(kind):
    title, sentence, claim = SILENT[kind]
    assert compare(claim, [(title, sentence)]) is None


def test_a_comparison_outranks_the_verifier_and_its_sentence_is_certain():
    claims = ["The inn was built in 1899.", "The inn is old."]
    evidence = [("", "The inn burnt down."), ("", "The inn was built in 1901.")]
    undecided = FixedVerifier([0.2, 0.5, 0.3])
    decided, other = ExactVerifier(undecided).read(claims, [evidence] * 2)
    refuted = [0.02, 0.02, 0.96]
    assert decided.labels == pytest.approx(refuted)
    assert decided.sentences == pytest.approx(np.array([[0.2, 0.5, 0.3], refuted]))
    assert [one.sentence for one in decided.comparisons] == [1]
    assert (other.labels.tolist(), other.comparisons) == ([0.2, 0.5, 0.3], ())


@pytest.mark.parametrize(
    ("claim", "text", "claimed", "stated", "reason"),
    [
        ("The inn was built in 1899.", "The inn was built in 1901.", "1899", "1901",
         "The claim says 1899, the evidence says 1901."),
        ("Ostrel has 7418 inns.", "Ostrel has 7,418 inns.", "7418", "7,418",
         "The claim says 7418, which agrees with the evidence: 7,418."),
        ("Ostrel has 12 inns.", "Ostrel has 12 inns.", "12", "12",
         "The claim and the evidence both say 12."),
        ("The inn was sold.", "The inn was never sold.", "sold", "never sold",
         "The claim says sold, the evidence says never sold."),
        ("The inn was not sold.", "The inn was sold.", "not sold", "sold",
         "The claim says not sold, the evidence says sold."),
        ("The inn was built in the 1890s.", "The inn was built in 1901.", "1890s", "1901",
         "The claim says 1890s, the evidence says 1901."),
        ("Torvik won the cup.", "Torvik lost the cup.", "won", "lost",
         "The claim says won, the evidence says lost."),
        ("Torvik lost cups.", "Torvik won and lost cups.", "Torvik lost cups",
         "Torvik won and lost cups",
         "The evidence says this in the same words."),
        ("The inn lies in Ost.", "The inn lies in Ost.", "inn lies in Ost", "inn lies in Ost",
         "The evidence says this in the same words."),
    ],
)  # fmt: skip
def test_reason_names_what_is_compared(claim, text, claimed, stated, reason):
    comparison = compare(claim, [("Inn", "The inn burnt down."), ("Ostrel", text)])
    assert comparison is not None
    assert (comparison.claimed, comparison.stated, comparison.sentence) == (claimed, stated, 1)
    assert comparison.reason == reason


def words_at(comparison, stated):
    for quotation in (comparison.quotation, comparison.second):
        if quotation is not None:
            title, text = stated[quotation.sentence_id]
            assert quotation.title == title
            yield (title if quotation.in_title else text)[quotation.start : quotation.end]


def assert_places(comparison, claim, stated):
    start, end = comparison.claim_span
    assert claim[start:end] == comparison.claimed != ""
    assert " and ".join(words_at(comparison, stated)) == comparison.stated != ""
    assert comparison.quotation.sentence_id == comparison.sentence


@given(claims, evidence)
def test_any_text_is_read(claim, stated):
    comparison = compare(claim, stated)
    assert comparison is None or comparison.label in (TRUE, FALSE)
    if comparison is not None:
        assert_places(comparison, claim, stated)


SPACES = st.text(" \n", max_size=2)


@given(st.sampled_from(sorted(TWINS)), st.booleans(), SPACES, SPACES, st.booleans())
def test_places_hold_the_words_that_are_compared(kind, is_true, before, gap, is_second):
    title, sentence, true, false = TWINS[kind]
    claim = before + (true if is_true else false)
    stated = [("Ost", "It rained.")] * is_second + [(title, f"{gap}{sentence} It rained (a lot).")]
    comparison = compare(claim, stated)
    assert comparison is not None
    assert_places(comparison, claim, stated)


DATED = [
    ("Ada Quill", "Ada Mary Quill (Norwegian: Adda; born 3 May 1950) is a painter."),
    ("Ben Roe", "Benedict Roe, Jr (7 June 1960 – 2 May 1999) was a painter."),
    ("Cleo Ost", "Cleo Ost is a Norwegian painter, born in Lower Ost on 3 May 1955, who swims."),
    ("Ines Varga", "Ines Varga is a sister of Hugo Varga, born in 1840."),
    ("Orla Mill", "The Orla Mill opened in 1702, and closed in 1790."),
    ("Vell Inn", "It was opened in 1801."),
]


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("Ada Quill is older than Ben Roe.", TRUE),
        ("Ada Mary Quill is younger than Cleo Ost.", FALSE),
        ("The painter Ben Roe was younger than Cleo Ost.", TRUE),
        ("Ben Roe was born before Cleo Ost.", FALSE),
        ("Cleo Ost is two years older than Ben Roe.", None),
        ("Cleo Ost is older than Joan Moe.", None),
        ("Ines Varga is older than Ben Roe.", None),
        ("The son of Ben Roe is younger than Cleo Ost.", None),
        ("The Orla Mill opened earlier than the Vell Inn.", TRUE),
        ("The Vell Inn opened later than the Orla Mill.", TRUE),
        ("The Vell Inn opened before the Orla Mill.", FALSE),
        ("The Vell Inn opened after the Orla Mill closed.", TRUE),
        ("The Vell Inn is older than the Orla Mill.", FALSE),
    ],
)
def test_the_order_of_two_events_is_read_from_their_dates(claim, label):
    for stated in (DATED, DATED[::-1]):
        found = compare(claim, stated)
        assert (found and found.label) == label
        if found is not None:
            assert found.claimed in claim[:-1]
            assert_places(found, claim, stated)
            assert compare(claim, stated[:1]) is None


def test_a_list_without_end_is_not_compared():
    assert compare("word " * 150, [("", "word " * 3000)]) is None


@pytest.mark.parametrize(
    ("text", "claim", "label"),
    [
        ("Ostrel has had a brewery since 1790.", "Ostrel had a brewery in 1850.", TRUE),
        ("Ostrel has had a brewery since 1790.", "Ostrel had no brewery in 1850.", FALSE),
        ("Ostrel has had a brewery since 1790.", "Ostrel had a brewery in 1700.", None),
        ("Ostrel had a brewery since 1790.", "Ostrel had a brewery in 1850.", None),
        ("Ostrel has had a brewery since the war.", "Ostrel had a brewery in 1850.", None),
        ("Ostrel has had a brewery since 1790.", "Ostrel has had a brewery since 1850.", FALSE),
    ],
)
def test_what_goes_on_since_a_date_holds_later(text, claim, label):
    found = compare(claim, [("Ostrel", text)])
    assert (found and found.label) == label
