"""Following tokens through a trie, whatever it is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable


class Walkable(ABC):
    """What can be followed token by token from its root."""

    #: The node in front of all tokens.
    root = 0

    @abstractmethod
    def child(self, node: int, token: int) -> int:
        """Return the node behind `token`, -1 where there is none."""

    def walk(self, ids: Iterable[int], node: int = root) -> int:
        """Return the node that `ids` lead to from `node`, -1 where they leave the trie."""
        for token in ids:
            node = self.child(node, token)
            if node < 0:
                break
        return node
