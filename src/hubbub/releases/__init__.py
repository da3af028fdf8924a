"""An answer as it leaves us: noisy numbers with their intervals, the receipt, and the guarantee.

- ``Release``   the table: rows, intervals, frames, charts, text, HTML, JSON, and a sheet to publish with it
- ``Noisy``     one column of it, to calculate with and to simulate
- ``formulas``  how a column comes from noisy integers
- ``Measure`` ``Noise`` ``KeyColumn`` ``Output`` ``Table``  what a release is made of

Nothing here reads data or spends budget: all of it is post-processing. Intervals cover the noise, and nothing else.
"""

from hubbub.releases import formulas, frames, text
from hubbub.releases.formulas.base import rebuilt
from hubbub.releases.noisy_columns import KeyColumn, Measure, Noise, Table, simultaneous
from hubbub.releases.noisy_values import Noisy
from hubbub.releases.publication_sheet import Sheet
from hubbub.releases.release import Output, Release
from hubbub.releases.rounded import Rounded

__all__ = [
    "KeyColumn",
    "Measure",
    "Noise",
    "Noisy",
    "Output",
    "Release",
    "Rounded",
    "Sheet",
    "Table",
    "formulas",
    "frames",
    "rebuilt",
    "simultaneous",
    "text",
]
