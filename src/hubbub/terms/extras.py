"""How the packages of an extra are installed, said for the way in which Hubbub itself is installed here."""

from __future__ import annotations

from pathlib import Path

CLONE = Path(__file__).parents[3]  # where pyproject.toml stands, if this runs from its sources


def install_command(extra: str) -> str:
    """The command that adds an extra: in a clone it names the folder, since an index may not have the package."""
    if (CLONE / "pyproject.toml").is_file():
        return f"pip install -e '.[{extra}]' in the folder of your clone"
    return f"pip install 'hubbub[{extra}]'"
