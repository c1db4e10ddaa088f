"""Names of what is bundled, which take precedence over directories."""

MODELS = ("mini",)
VERIFIERS = ("mini",)
JUDGE_WEIGHTS = "judge_weights.json"  # the weights of the judge that were fitted with a verifier
DEMO = "demo"  # the knowledge base


def is_bundled(name: str) -> bool:
    """Return whether a name stands for a bundled model or knowledge base."""
    return name in (*MODELS, DEMO)
