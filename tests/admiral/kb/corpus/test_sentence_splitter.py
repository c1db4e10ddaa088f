import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admiral.kb.corpus.sentence_splitter import sentence_spans, split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. J. R. Smith met Mr. Brown in Washington, D.C. on Jan. 5.", "They talked."],
        ["The mass is 3.5 kg.", "The price is $1.25 per lb."],
        ["He worked for Acme Inc. in Ohio.", "She left."],
        ["She joined Acme Inc.", "The firm grew."],
        ["He was king after Elizabeth I.", "He died."],
        ['"Who is it?" she asked.', '"Me!"', "He came in."],
        ["It ended (at last.)", "Then came peace."],
        ["St. Mary's Church, built c. 1200, is in St. Ives.", "It is small."],
        ["See No. 5, vol. 2, pp. 10-12.", "The answer is no.", "Nobody knew."],
        ["It runs on example.com and uses U.S.-made parts.", "OK?", "Yes!"],
        ["1984 is a novel.", "1985 is another one."],
        ["Wait... what did you say?", "Nothing..."],
        ["東京は首都です。", "大きい。"],
        ["The iPhone is sold by Apple Inc.", "It is a phone."],
        ['The album "Better!" , by a band, sold well.', "It did."],
        ["A. Smith et al. describe it.", "É. Zola wrote it."],
        # Words and units that are abbreviations elsewhere.
        [
            "Is it?",
            "No.",
            "Nothing is.",
            "I see a cat.",
            "5 more follow.",
            "Roe v. Wade, a.k.a. The Case.",
        ],
        ["They study folk art.", "A dog sat.", "It ran 10 sec.", "One costs a fig.", "See Art. 7."],
        ["On Sat. 4 Mar. we met in Mt. Hope.", "It rained in Dec.", "The sea froze."],
        ["He sells pens, ink, etc.", "Paper is sold next door."],
        ["It opens at 9 a.m. Monday to Friday.", "Close at 5 p.m.", "Guards come then."],
        ["A plank of 6 ft. 2 in. is 15 lb.", "Most are shorter."],
        # Note marks stay with the sentence that they follow.
        ["It fell in 1902.[3]", "Rain came.[a][citation needed]", "It rose.⁴", "Who knows?"],
        # Letters and numerals that end a sentence.
        ["They lost World War I.", "Ships sank.", "It lacks vitamin C.", "Limes have it."],
        ["The tomb is that of Louis X.", "Builders found it.", "Louis X. Adams did not."],
        # Ranks, and abbreviations before numbers.
        ["Maj. Gen. Stone and Drs. Wood met Lt. Col. Reed.", "Revs. Hill and Dale prayed."],
        ["Arles (pop. 900, est. 1600, tel. 5) is on Pl. IV and in Ch. 2.", "See Eq. (3)."],
        ["The musical Oliver! Tickets sold well.", "Run!", "Bears come."],
        ["“Who won?” Mary Reed asked.", "“We did!”", "Crowds cheered."],
        ["It is a phone.", "eReaders are not."],
        ["Wash up.", "1. Fill the sink.", "2. Dry."],
        ["„Nein.“", "Dann kam am 5. Juli der Regen."],
        ["वह आया।", "वह गया।"],
    ],
)
def test_splits(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


def test_blank_lines_split_and_single_line_ends_do_not():
    assert split_sentences("A heading\n\nOne line\nand more\n \nlast") == [
        "A heading",
        "One line\nand more",
        "last",
    ]


@given(st.text(st.sampled_from("aB1 .!?…\"')([]¹“”।\n\t。U.Dr"), max_size=80))
def test_spans_omit_only_white_space(text):
    spans = sentence_spans(text)
    end = 0
    for start, stop in spans:
        assert not text[end:start].strip()
        assert start < stop
        assert text[start:stop] == text[start:stop].strip()
        end = stop
    assert not text[end:].strip()


@pytest.mark.parametrize("text", ["." * 300_000, ". " * 150_000, "\n" * 300_000, '."' * 150_000])
def test_hostile_texts_take_linear_time(text):
    began = time.process_time()
    sentence_spans(text)
    assert time.process_time() - began < 5
