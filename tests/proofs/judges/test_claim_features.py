"""Features of a claim with its evidence, counted by hand."""

from hypothesis import given

from proofs import default_lexicon
from proofs.drafting.drafts import draft
from proofs.judges.claim_features import CLAIM_FEATURES, claim_features
from proofs.judges.document_links import Links
from tests.proofs.hostile import claims, evidence

CLAIM = "The builder of Port Merrow Lighthouse and Ada Quill were both engineers."
TOWER = ("Port Merrow Lighthouse (Ireland)", "Joan Firth built it in a year.")
JOAN = ("Joan Firth", "Joan Firth was an engineer who built Port Merrow Lighthouse.")
ADA = ("Ada Quill", "Ada Quill was one of the first engineers.")
RAIN = ("Rain", "The builder of clouds.")


def features(claim: str, texts: list[tuple[str, str]]) -> dict[str, float]:
    drafts = draft(claim, texts, default_lexicon(), 16)
    return dict(
        zip(
            CLAIM_FEATURES,
            claim_features(claim, texts, Links.of(claim, texts), drafts),
            strict=True,
        )
    )


def test_features_can_be_counted_by_hand() -> None:
    found = features(CLAIM, [TOWER, JOAN, ADA, RAIN])
    assert (found["words"], found["sharing"], found["definite"]) == (1.2, 2, 1)
    assert (found["proper_names"], found["untitled"]) == (2, 0)
    assert (found["documents"], found["named"]) == (4, 2)
    # The lighthouse stands behind "of", and leads to Joan Firth.
    assert (found["described"], found["described_alone"], found["described_open"]) == (1, 0, 0)
    assert (found["links"], found["mutual"], found["linked"], found["largest"]) == (1, 1, 2, 2)
    assert (found["between_named"], found["between_unnamed"]) == (0, 0)
    assert (found["reached"], found["alone"], found["linked_unnamed"]) == (3, 1, 1)
    assert (found["bridges"], found["led"], found["leading"], found["sentences"]) == (1, 1, 1, 3)
    # Rain alone has "builder"; nothing has "were", a stop word, which does not count.
    assert (found["uncovered"], found["uncovered_by_linked"], found["stray"]) == (0, 1, 1)


def test_each_feature_has_its_name() -> None:
    """Values of which few are alike: no two features can have changed places."""
    claim = (
        "Who built Cork Bridge before Ada Quill, Ida Penn and Joan Firth, whose mills that other "
        "town sold, came? The bridge and the old mill are in Lund."
    )
    texts = [
        ("Cork Bridge", "Ada Quill and Tom Reed drew it, not Eve Lamb."),
        ("Ada Quill", "Ada Quill drew Cork Bridge."),
        ("Tom Reed", "Tom Reed knew Eve Lamb and sold tiles."),
        ("Eve Lamb", "Eve Lamb knew Tom Reed."),
        ("Ida Penn", "She came late."),
        ("Rain", "A town of old mills."),
        ("Rain", "Water."),
    ]
    assert features(claim, texts) == {
        "words": 2.8, "steps": 9, "sharing": 2, "setting_apart": 2, "relative": 3, "definite": 2,
        "stops": 2, "proper_names": 5, "untitled": 2,
        "documents": 6, "named": 3, "described": 0, "described_alone": 0, "described_open": 0,
        "links": 4, "mutual": 2, "between_named": 1, "between_unnamed": 1, "linked": 4,
        "reached": 5, "largest": 4, "alone": 1, "linked_unnamed": 2, "bridges": 2, "led": 0,
        "leading": 1, "sentences": 5,
        "weakest": 0, "second": 0, "uncovered": 5, "uncovered_by_linked": 8,
        "largest_share": 5 / 17, "contributing": 3, "stray": 3,
    }  # fmt: skip


def test_a_missing_document_shows() -> None:
    found = features(CLAIM, [TOWER, ADA, RAIN])
    assert (found["described"], found["described_alone"], found["described_open"]) == (1, 1, 1)
    assert (found["links"], found["leading"], found["led"], found["alone"]) == (0, 0, 0, 2)
    assert features(CLAIM, [RAIN])["untitled"] == 2


@given(claims.filter(str.split), evidence)
def test_hostile_texts_have_features_too(claim: str, texts: list[tuple[str, str]]) -> None:
    found = features(claim, texts)
    assert found["reached"] <= found["documents"] and found["bridges"] <= found["linked_unnamed"]
    assert found["described_alone"] <= found["described_open"] <= found["described"]
    assert found["described"] <= found["named"] <= found["documents"]
    assert 0 <= found["largest_share"] <= 1 and found["uncovered"] <= found["uncovered_by_linked"]
