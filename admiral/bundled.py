"""The names of what comes with the package; they stand for it whatever lies in the directory."""

MODELS = ("mini",)
DEMO = "demo"  # the knowledge base
