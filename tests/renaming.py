"""Another name for every class of Hubbub: what is stored, and what makes two requests the same, must not notice."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def renamed_classes() -> Iterator[int]:
    """Give each class that was imported another name and qualified name; how many there are."""
    ours = _classes()
    names = [(each, each.__name__, each.__qualname__) for each in ours]
    try:
        for number, each in enumerate(ours):
            each.__name__ = each.__qualname__ = f"Renamed{number}"
        yield len(ours)
    finally:
        for each, name, qualified in names:
            each.__name__, each.__qualname__ = name, qualified


def _classes() -> list[type]:
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "hubbub"]
    found = {id(each): each for module in modules for each in vars(module).values() if isinstance(each, type)}
    return [each for each in found.values() if str(each.__module__).partition(".")[0] == "hubbub"]
