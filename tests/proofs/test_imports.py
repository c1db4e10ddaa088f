"""Reading records and knowledge bases does not import torch or transformers."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "module", ["proofs", "admiral.records", "admiral.evaluation.html_report", "admiral.kb", "trie"]
)
def test_import_does_not_load_torch(module):
    check = f"import sys, {module}; sys.exit(bool({{'torch', 'transformers'}} & {{*sys.modules}}))"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", check], cwd=root).returncode == 0
