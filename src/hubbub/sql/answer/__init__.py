"""From a stored answer to a release: all post-processing.

``show`` makes the release, ``rows`` its rows (formulas, HAVING, ORDER BY, LIMIT, totals), ``three_valued_logic`` works
out conditions on noisy values. Start with ``show``.
"""

from hubbub.sql.answer.show import release, show_answer

__all__ = ["release", "show_answer"]
