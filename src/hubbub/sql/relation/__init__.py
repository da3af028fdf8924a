"""After the noise: a SELECT that stands around private ones runs on their noisy tables, free, with intervals.

- ``find_inner``    text -> the private questions in it, and the outer statement that reads their noisy tables alone
- ``outer_rules``   what an outer statement may say: it reads released tables, and gives the same whenever it runs
- ``split_select``  one SELECT that does more than can be asked -> a private question, and a SELECT around it
- ``ask_relation``  prices and asks the inner questions one by one; refuses all that can be refused before the first
- ``copies``        the noisy tables as they may have been: redrawn, moved, and at the ends of their intervals
- ``intervals``     what the outer statement makes of the copies -> an interval for each of its cells
- ``relation_release``, ``relation_preview``  what people see

From outside all of it is used through a ``Connection``. Start with ``ask_relation``, then ``find_inner``.
"""

__all__: list[str] = []  # for hubbub.sql alone
