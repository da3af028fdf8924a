"""Tables of counts with noise, made to add up, with what may be said about their errors.

- ``marginals(table, of=[...])``: counts by a few columns at a time; not negative, and all totals agree
- ``top_down(table, levels=[...])``: counts for every place of a geographic tree, whole numbers that add up
- ``DailySeries``: visitors by place and day, against a baseline, under one budget for the whole series

Tables have three columns for each count: *count* (made consistent), *noisy* (as measured, unbiased) and *margin* (the
noisy one is within it of the truth with 95% confidence). ``Published`` ones can be written as CSV or Parquet, with a
methods sheet. From outside use ``hubbub.publish``. Start with ``marginals``, then ``noisy_counts``.
"""

from hubbub.publish.tables.daily import DailySeries
from hubbub.publish.tables.marginals import marginals
from hubbub.publish.tables.published import Published
from hubbub.publish.tables.topdown import top_down

__all__ = ["DailySeries", "Published", "marginals", "top_down"]
