"""File permissions: everything written has the permissions of its knowledge base.

A knowledge base may be shared, and the user who changes it may have another umask than its builder.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from admiral.kb.store.manifest import NAME


def copy_permissions(tree: Path, kb: Path) -> None:
    """Give the folders of `tree` the mode of `kb`, and its files that of the manifest of `kb`."""
    folder_mode = stat.S_IMODE(kb.stat().st_mode)
    file_mode = stat.S_IMODE((kb / NAME).stat().st_mode)
    for folder, _, files in os.walk(tree):
        os.chmod(folder, folder_mode)
        for name in files:
            os.chmod(os.path.join(folder, name), file_mode)
