"""Names of the bundled models and knowledge base; they take precedence over directories."""

MODELS = ("mini",)
VERIFIER = "mini-verifier"
DEMO = "demo"  # the knowledge base


def is_bundled(name: str) -> bool:
    """Return whether a name stands for a bundled model, verifier or knowledge base."""
    return name in (*MODELS, VERIFIER, DEMO)
