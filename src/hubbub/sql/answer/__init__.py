"""From a stored answer to a release: all post-processing.

``show`` makes the release, ``rows`` its rows (formulas, HAVING, ORDER BY, LIMIT, totals), ``three_valued_logic`` works
out conditions on noisy values; ``example_answer`` shows the columns of an answer that nobody gave. Start with ``show``.
"""

from hubbub.sql.answer.show import example_answer, release, show_answer

__all__ = ["example_answer", "release", "show_answer"]
