"""An answer as it leaves us: noisy numbers with their intervals, the receipt, and the guarantee.

- ``release_job``, ``quote_job``   the one door: bind, charge, run, store, show a ``Job``
- ``check_jobs``, ``refusal_of``   whether several jobs fit together, before the first of them is charged
- ``Release``   the table: rows, intervals, frames, charts, text, HTML, JSON, and a sheet to publish with it
- ``DerivedRelease``   the same, worked out of other releases
- ``Noisy``     one column of it, to calculate with and to simulate
- ``formulas``  how a column comes from noisy integers
- ``NoisyColumn`` ``Noise`` ``NoiseSum`` ``KeyColumn`` ``ReleasedColumn`` ``NoisyTable``  what a release is made of

A job's ``run`` alone reads data, and the door alone spends budget; all else is post-processing. Intervals cover the
noise, and nothing else. Start with ``door`` and ``jobs``, then ``release``.
"""

from hubbub.releases import formulas, frames, text
from hubbub.releases.derived import DerivedRelease, guarantee_together
from hubbub.releases.door import JobQuote, check_jobs, plan_pool, quote_job, refusal_of, release_job, request_for
from hubbub.releases.formulas.base import rebuilt
from hubbub.releases.jobs import LONGEST, Job, JobFacts, Progress, no_progress
from hubbub.releases.noise_sums import NoiseSum, NoiseTerm
from hubbub.releases.noisy_columns import KeyColumn, Noise, NoisyColumn, NoisyTable, simultaneous
from hubbub.releases.noisy_values import Noisy
from hubbub.releases.publication_sheet import PublicationSheet
from hubbub.releases.release import Release, ReleasedColumn
from hubbub.releases.rounded import Rounded

__all__ = [
    "LONGEST",
    "DerivedRelease",
    "Job",
    "JobFacts",
    "JobQuote",
    "KeyColumn",
    "Noise",
    "NoiseSum",
    "NoiseTerm",
    "Noisy",
    "NoisyColumn",
    "NoisyTable",
    "Progress",
    "PublicationSheet",
    "Release",
    "ReleasedColumn",
    "Rounded",
    "check_jobs",
    "formulas",
    "frames",
    "guarantee_together",
    "no_progress",
    "plan_pool",
    "quote_job",
    "rebuilt",
    "refusal_of",
    "release_job",
    "request_for",
    "simultaneous",
    "text",
]
