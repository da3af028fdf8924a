"""Reports that are integers: one source for the report of one person and for those of many."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from hubbub.local.randomizers.base import Randomizer
from hubbub.local.randomizers.common.exact_words import Codes, Number, Word, Words


class IntegerReports(Randomizer):
    """A randomizer that writes its report down once: with plain integers it is one person's, with arrays many people's.

    What both kinds of number share is arithmetic and comparison. The few operations that differ (``below``, ``pick``,
    ``parity``, ...) are in ``exact_words``, with a test that compares them.
    """

    @abstractmethod
    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        """The report for a code; ``words`` are the ``self.words`` random words, or a column of many people's each."""

    def _respond(self, codes: Codes, words: Words) -> Codes:
        reports = self._report(codes, tuple(words.T))
        assert not isinstance(reports, int)
        return reports

    def _respond_one(self, value: Any, words: list[int]) -> int:
        report = self._report(self._code(value), words)
        assert isinstance(report, int)
        return report
