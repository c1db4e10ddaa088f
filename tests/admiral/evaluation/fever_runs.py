"""Runs of FEVER, generated, and their figures by us and by the official scorer.

Generated are alternative sets that share sentences, sentences predicted twice or beyond the fifth,
ids that FEVER spells its own way, claims without evidence, and answers without evidence or label.
"""

import json
from importlib import import_module

from hypothesis import strategies as st

from admiral.evaluation import read_predictions
from admiral.evaluation.tasks import EVALUATION_TASKS, evaluate, read_task_claims
from admiral.io.text_cleaning import fever_title

_PAGES = ("Ada", "Ada_-LRB-film-RRB-", "Zoe\u0308_-COLON-_Live", "Bo_Lind")
_SYMBOLS = {"SUPPORTS": "=", "REFUTES": "!", "NOT ENOUGH INFO": "#"}
# The scorer's figures in its order, by our names.
FIGURES = ("FEVER score", "label accuracy", "evidence precision", "evidence recall", "evidence F1")

_sentences = st.tuples(st.sampled_from(_PAGES), st.integers(0, 2)).map(list)


@st.composite
def instances(draw, nei_has_evidence=False):
    """Draw a claim with gold evidence and an answer, as the scorer takes them.

    In FEVEROUS, claims of NOT ENOUGH INFO have evidence too.
    """
    label = draw(st.sampled_from(sorted(_SYMBOLS)))
    sets = draw(st.lists(st.lists(_sentences, min_size=1, max_size=3), max_size=3))
    gold = [[[1, 2, *sentence] for sentence in one] for one in sets]
    if label == "NOT ENOUGH INFO" and not nei_has_evidence:
        gold = [[[1, None, None, None]]]
    own = [sentence for one in sets for sentence in one]
    # Mostly sentences of the gold sets, so that whole sets are often found.
    pick = st.one_of(st.sampled_from(own), _sentences) if own else _sentences
    return {
        "label": label,
        "evidence": gold,
        "predicted_label": draw(st.sampled_from([*sorted(_SYMBOLS), label, ""])),
        "predicted_evidence": draw(st.lists(pick, max_size=8)),
    }


runs = st.lists(instances(), min_size=1, max_size=8)


def official_scorer():
    """Return the function of the official scorer; ImportError if it is not installed."""
    found = import_module("fever.scorer").fever_score
    return found


def our_figures(run, folder):
    """Return our figures for a run, read from files in `folder`."""
    gold, results = folder / "gold.jsonl", results_of(run, folder / "results.jsonl")
    gold.write_text(
        "".join(
            json.dumps({"id": n, "claim": "c", "label": i["label"], "evidence": i["evidence"]})
            + "\n"
            for n, i in enumerate(run)
        )
    )
    task = EVALUATION_TASKS["fever"]
    result = evaluate(task, read_task_claims(task, gold), read_predictions(results), [5])
    return {m.name: m.value(result.groups[0].members) for m in result.measures}


def results_of(run, path):
    """Write the answers of a run as results, and return the file."""
    path.write_text("".join(json.dumps(_result(n, i)) + "\n" for n, i in enumerate(run)))
    return path


def _result(number, instance):
    symbol = _SYMBOLS.get(instance["predicted_label"])
    proof = symbol and [{"claim": "c", "evidence": "e", "operator": symbol}]
    return {
        "id": str(number),
        "claim": "c",
        "documents": [],
        "evidence": [
            {"title": fever_title(page), "sentence_id": line}
            for page, line in instance["predicted_evidence"]
        ],
        "hops": [{"number": 1, "sufficient": True, "proof": proof}],
    }


def disagreements(run, ours):
    """Return each of the scorer's figures for a run that ours differ from.

    We leave figures out where nothing counts: of labels without any verdict, of sentences without
    any gold sentence.
    """
    theirs = dict(zip(FIGURES, official_scorer()(run), strict=True))
    return [
        f"{name}: {theirs[name]} by the scorer, {ours[name]} by us, for {run}"
        for name in FIGURES
        if name in ours and abs(ours[name] - theirs[name]) > 1e-12
    ]
