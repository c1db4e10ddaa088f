"""Calls of the standard library that fail at a chosen time, for tests of writers."""

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest


class Failing:
    """Let a function succeed `left` times, then call `act` once, which makes it fail."""

    def __init__(self, original, left, act):
        self.original, self.left, self.act = original, left, act

    def __call__(self, *args, **kwargs):
        self.left -= 1
        if self.left == -1:
            self.act()
        return self.original(*args, **kwargs)

    def patch(self, patch, owner, name):
        # A plain function, so that it is bound if it replaces a method.
        patch.setattr(owner, name, lambda *args, **kwargs: self(*args, **kwargs))


def full_disk():
    raise OSError(28, "No space left on device")


FAULTS = [
    *((os, "fsync"), (os, "replace"), (os, "mkdir"), (os, "unlink"), (np, "save")),
    *((Path, "write_bytes"), (Path, "write_text"), (Path, "open"), (pa, "OSFile")),
    (shutil, "rmtree"),
]


def marked_faults():
    """Return all faults, with the slow ones marked."""
    quick = ("replace", "save", "OSFile")
    return [f if f[1] in quick else pytest.param(*f, marks=pytest.mark.slow) for f in FAULTS]
