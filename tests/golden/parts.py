"""The parts of the golden outputs: what each runs, and what it keeps of the answers.

Times are left out, as are the texts of claims, sentences and passages, which their ids, titles and
numbers name. Of the texts that `extract` finds, hashes are kept.
"""

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from admiral.requirements import minilm_directory
from tests.golden.commands import admiral, admiral_records, post, program, service

Records = dict[str, Any]
Part = Callable[[Path, bool], Records]

FILES = Path(__file__).parent
DATA = FILES.parents[1] / "admiral" / "data"
DEMO_CLAIMS = DATA / "demo" / "claims.jsonl"
DEMO_DOCUMENTS = DATA / "demo" / "documents.jsonl"
SOURCES = DATA / "citations" / "sources.jsonl"
CITATION_GOLD = DATA / "citations" / "gold.jsonl"
PAGES = sorted((DATA / "citations" / "pages").iterdir())
PROVE_CLAIMS = FILES / "prove-claims.jsonl"
QUICK_PAGE = "Apollo_13"

# Two to four claims of each number of hops, from one to four, and of each label.
CLAIM_IDS = tuple(json.loads(line)["id"] for line in DEMO_CLAIMS.read_text().splitlines())[:24]
QUICK_CLAIM_IDS = ("a-001", "a-021")  # none takes more than two hops
QUICK_PROVE_IDS = ("number-refuted", "negation-refuted", "bridge-supported", "missing-document")
# Of a ranking of 100 documents. Those after them are mostly candidates that no hop has read.
RANKED = 40

# Scores in bfloat16 differ between processors in the third digit. One thread adds in one order.
SETTINGS = ("--set", "precision=fp32", "--set", "threads=1")
QUERIES = ("host of the Emmy Awards", "moon landing astronauts", "director of a film about Mozart")
_STEP = ("claim", "evidence", "operator")  # the fields of a step of a proof
# About documents that `update` changes.
CHANGED_CLAIM = "Astronauts hosted the 66th Primetime Emmy Awards, which Seth Meyers watched."
# Settings under which a hop takes a fraction of a second, but titles are still generated.
CHEAP = (
    *("--set", "reranker=bm25", "--set", "judge=lexical"),
    *("--set", "beam_size=4", "--set", "title_beams=4", "--hops", "2"),
)
# Three steps, on which a processor spends seconds.
TRAINING = {
    "steps": 3,
    "warmup_steps": 1,
    "batch_tokens": 512,
    "precision": "fp32",
    "device": "cpu",
    "eval_every": 0,
    "log_every": 1,
    "tracker": "none",
}


def lines(path):
    """Yield the records of a file of JSON Lines."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def write_lines(path, records):
    """Write records to a file of JSON Lines, and return its path."""
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def without(record, *fields):
    """Return a record without some of its fields."""
    return {key: value for key, value in record.items() if key not in fields}


def retrieved(record):
    """Return what is kept of a record of `admiral retrieve`."""
    return {
        **without(record, "id", "claim"),
        "documents": [[each["title"], each["score"], each["hop"]] for each in record["documents"]][
            :RANKED
        ],
        "evidence": [
            [each["title"], each["sentence_id"], each["score"]] for each in record["evidence"]
        ],
        "hops": [
            {
                **without(hop, "seconds"),
                "document_sets": [
                    [*each["titles"], each["score"]] for each in hop["document_sets"]
                ],
                "proof": hop["proof"] and [[step[key] for key in _STEP] for step in hop["proof"]],
            }
            for hop in record["hops"]
        ],
    }


def retrieve(folder, quick, options=()):
    """Retrieve for demo claims, with the options of a variant."""
    chosen = QUICK_CLAIM_IDS if quick else CLAIM_IDS
    claims = {record["id"]: record for record in lines(DEMO_CLAIMS)}
    given = write_lines(folder / "claims.jsonl", [claims[id] for id in chosen])
    output = folder / "results.jsonl"
    admiral("retrieve", "--input", given, "--output", output, "--quiet", *SETTINGS, *options)
    return {record["id"]: retrieved(record) for record in lines(output)}


def retrieve_over_graph(folder, quick):
    """Retrieve for demo claims from the demo documents, indexed with a graph."""
    kb = folder / "kb"
    admiral("index", DEMO_DOCUMENTS, "--kb", kb, "--graph", "--no-progress")
    return retrieve(folder, quick, ("--kb", kb))


def prove(folder, quick):
    """Prove claims from given sentences."""
    found = {}
    for given in lines(PROVE_CLAIMS):
        if quick and given["id"] not in QUICK_PROVE_IDS:
            continue
        # A command takes a fraction of a second, after the first, which imports torch.
        evidence = (option for text in given["evidence"] for option in ("--evidence", text))
        (record,) = admiral_records("prove", given["claim"], *evidence, "--json", *SETTINGS)
        found[given["id"]] = {
            **without(record, "claim", "evidence"),
            "proof": [list(step.values()) for step in record["proof"]],
        }
    return found


def extracted(record):
    """Return what is kept of a statement: no empty fields of citations, and hashes of texts."""
    texts = [record[key] for key in ("before", "claim", "after")]
    return {
        **without(record, "id", "before", "claim", "after"),
        "hashes": [sha256(text.encode()).hexdigest()[:8] for text in texts],
        "citations": [
            {key: value for key, value in citation.items() if value is not None}
            for citation in record["citations"]
        ],
    }


def extract(folder, quick):
    """Extract the statements that have references from the demo pages."""
    found = {}
    for page in PAGES:
        if quick and page.stem != QUICK_PAGE:
            continue
        output = folder / f"{page.stem}.jsonl"
        admiral("extract-citations", page, "--output", output, "--quiet")
        found[page.stem] = {record["id"]: extracted(record) for record in lines(output)}
    return found


def cited(source):
    """Return what is kept of a source in a verdict on a citation."""
    passage = source["passage"]
    return {
        **without(source, "title"),
        "passage": passage and list(without(passage, "text").values()),
        "sentences": [each["score"] for each in source["sentences"]],
        "parts": [list(part.values()) for part in source["parts"]],
    }


def verify_citations(folder, quick):
    """Verify the citations of the demo pages."""
    pages = [page for page in PAGES if page.stem == QUICK_PAGE] if quick else PAGES
    claims, output = folder / "citations.jsonl", folder / "verdicts.jsonl"
    kb = _sources(folder)
    admiral("extract-citations", *pages, "--output", claims, "--quiet")
    files = ("--kb", kb, "--input", claims, "--output", output)
    admiral("verify-citation", *files, "--quiet", *SETTINGS)
    return {
        record["id"]: {
            **without(record, "id", "page", "claim", "query", "seconds"),
            "existing": list(map(cited, record["existing"])),
            "suggestions": list(map(cited, record["suggestions"])),
        }
        for record in lines(output)
    }


class _AuditReader(HTMLParser):
    """Collect the decision and the texts of each statement of an audit page."""

    def __init__(self):
        super().__init__()
        self.statements = []
        self._inside = False

    def handle_starttag(self, tag, attrs):
        if tag == "article":
            self._inside = True
            self.statements.append([dict(attrs)["data-decision"] or ""])

    def handle_endtag(self, tag):
        self._inside &= tag != "article"

    def handle_data(self, data):
        text = data.strip()
        if self._inside and text:
            self.statements[-1].append(text if len(text) <= 40 else f"{text[:39]}…")


def audit(folder, quick):
    """Audit demo pages: the summary, and what is shown of each statement, cut to 40 characters."""
    kb = _sources(folder)
    found = {}
    for page in PAGES:
        if quick and page.stem != QUICK_PAGE:
            continue
        output = folder / "audit.html"
        _, summary = admiral("audit", page, "--kb", kb, "--output", output, "--quiet", *SETTINGS)
        reader = _AuditReader()
        reader.feed(output.read_text(encoding="utf-8"))
        found[page.stem] = {
            "summary": summary.strip().removeprefix(f"{output}: "),
            "statements": reader.statements,
        }
    return found


def _sources(folder):
    kb = folder / "kb"
    admiral("index", "--sources", SOURCES, "--kb", kb, "--no-progress")
    return kb


def _prediction(id, record):
    """Return what `admiral evaluate` reads of a record, from what is kept of it."""
    last = record["hops"][-1]
    steps = last["proof"] and [dict(zip(_STEP, each, strict=True)) for each in last["proof"]]
    return {
        "id": id,
        "documents": [{"title": title} for title, _, _ in record["documents"]],
        "evidence": [{"title": each[0], "sentence_id": each[1]} for each in record["evidence"]],
        "hops": [{"number": last["number"], "sufficient": last["sufficient"], "proof": steps}],
        "verdict": record["verdict"],
    }


def evaluate_results(folder, quick):
    """Evaluate the golden results by the rules of several data sets."""
    found = {}
    for variant in ("default", "fast"):
        results = golden(f"retrieve-{variant}")
        predictions = write_lines(
            folder / "results.jsonl", (_prediction(*item) for item in results.items())
        )
        claims = (record for record in lines(DEMO_CLAIMS) if record["id"] in results)
        gold = write_lines(folder / "gold.jsonl", claims)
        for task in ("hover", "fever", "feverous"):
            files = ("--gold", gold, "--predictions", predictions)
            output, _ = admiral("evaluate", task, *files, "--intervals", "--json")
            found[f"{task}, {variant}"] = json.loads(output)
    return found


def evaluate_verdicts(folder, quick):
    """Evaluate the golden verdicts on citations, with the labels of the demo as those of WiCE."""
    verdicts = golden("verify-citation")
    labels = {
        record["id"]: "supported" if record.get("supported") else "not_supported"
        for record in lines(CITATION_GOLD)
    }
    # The texts do not count, but are part of the format.
    claims = [
        {"id": id, "claim": id, "citations": [{"url": f"https://{number}.example"}], "label": label}
        | {"evidence": [], "supporting_sentences": [], "meta": {"id": id}}
        for number, (id, label) in enumerate(labels.items())
    ]
    gold = write_lines(folder / "gold.jsonl", claims)
    records = ({"id": id, **record} for id, record in verdicts.items() if id in labels)
    predictions = write_lines(folder / "verdicts.jsonl", records)
    files = ("--gold", gold, "--predictions", predictions)
    return dict(json.loads(admiral("evaluate", "citations", *files, "--json")[0]))


def _found(kb):
    """Return what queries find."""
    return {
        query: [
            list(without(record, "text").values())
            for record in admiral_records("search", query, "--kb", kb, "--json")
        ]
        for query in QUERIES
    }


def search(folder, quick):
    """Search the demo, in both indices of words."""
    kb = folder / "bm25s"
    admiral("index", DEMO_DOCUMENTS, "--kb", kb, "--bm25", "bm25s", "--no-progress")
    return {"lucene": _found("demo"), "bm25s": _found(kb)}


def update(folder, quick):
    """List and search a knowledge base before and after documents were added and removed."""
    kb = folder / "kb"
    documents = list(lines(DEMO_DOCUMENTS))
    first = write_lines(folder / "first.jsonl", documents[:60])
    changed = {**documents[0], "sentences": ["Astronauts hosted the moon landing awards."]}
    changed["links"] = [[]]
    later = write_lines(folder / "later.jsonl", [changed, *documents[60:70]])
    steps = {
        "index": ("index", first, "--kb", kb, "--graph", "--no-progress"),
        "add": ("add", later, "--kb", kb, "--on-duplicate", "replace", "--no-progress"),
        "remove": ("remove", *(each["title"] for each in documents[1:4]), "--kb", kb),
    }
    found = {}
    for step, arguments in steps.items():
        admiral(*arguments)
        (claim,) = admiral_records(
            "retrieve", CHANGED_CLAIM, "--kb", kb, "--json", *SETTINGS, *CHEAP
        )
        found[step] = {
            "titles": [
                record["title"] for record in admiral_records("titles", "--kb", kb, "--json")
            ],
            "search": _found(kb),
            "retrieve": retrieved(claim),
        }
    return found


def serve(folder, quick):
    """Ask the service about a claim that `retrieve-one-hop` has too."""
    claim = next(record for record in lines(DEMO_CLAIMS) if record["id"] == CLAIM_IDS[0])["claim"]
    with service(*SETTINGS) as address:
        result = post(f"{address}/v1/retrieve", {"claim": claim, "hops": 1})
    return {"retrieve": retrieved(result)}


def _losses(folder, name, **settings):
    """Train for three steps, and return what the log has of each.

    The learning rate is left out: it is smaller than what scores may differ by, and shows in the
    losses of the steps after it.
    """
    out = folder / name
    config = folder / f"{name}.yaml"
    config.write_text(json.dumps({**TRAINING, **settings, "out": str(out)}), encoding="utf-8")
    program("training", name, "--config", config)
    log = lines(out.with_name(f"{name}.run") / "log.jsonl")
    return [without(step, "learning_rate") for step in log]


def train(folder, quick):
    """Train a model of all three tasks, and the verifier, on the data of four claims."""
    claims = write_lines(folder / "claims.jsonl", list(lines(DEMO_CLAIMS))[:4])
    samples, examples = folder / "samples.jsonl", folder / "examples.jsonl"
    source = ("--kb", "demo", "--source", f"gold:{claims}")
    program("training", "build_data", *source, samples)
    program("training", "build_examples", *source, "--worlds", 20, examples)
    return {
        "samples": len(list(lines(samples))),
        "examples": Counter(record["label"] for record in lines(examples)),
        "joint": _losses(folder, "joint", start="mini", samples=str(samples), rerank_tokens=512),
        "verifier": _losses(
            folder, "verifier", start=str(minilm_directory()), examples=str(examples)
        ),
    }


def golden(name):
    """Return the golden outputs of a part."""
    records = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))
    return records


# Parts of which a quick check compares nothing.
SLOW_PARTS = ("train",)
# Evaluation reads the golden outputs of the parts before it.
PARTS = {
    "retrieve-default": retrieve,
    "retrieve-fast": partial(retrieve, options=("--fast",)),
    "retrieve-one-hop": partial(retrieve, options=("--hops", "1")),
    "retrieve-graph": retrieve_over_graph,
    "prove": prove,
    "extract": extract,
    "verify-citation": verify_citations,
    "audit": audit,
    "evaluate": evaluate_results,
    "evaluate-citations": evaluate_verdicts,
    "search": search,
    "update": update,
    "serve": serve,
    "train": train,
}
