"""Lower bounds on epsilon, for anybody's mechanism: an audit can refute a claim, and never prove one.

- ``lower_bound(mechanism, a, b)``   an epsilon that the mechanism exceeds on two neighbouring inputs
- ``examine(mechanism, a, b)``       the same with a report: the event in words, counts, pictures, JSON
- ``search(mechanism, pairs)``       the worst of many pairs, then one audit of it
- ``neighbour_pairs``                neighbouring inputs that are known to be bad
- ``one_run(train, canaries)``       an audit of a training that can run only once; ``one_run_bound`` from counts
- ``zoo``                            broken mechanisms with their repaired twins, to try auditors on

Events are chosen on some runs and counted on others, so a bound is wrong with the stated probability at most,
whatever was tried to find it (docs/proofs/audit.md).

Start with ``black_box``; what begins with an underscore is its inside, in the order of a run: ``_sampling``,
``_outcomes``, ``_scores``, ``_rejection_sets``, ``_confidence_limits``.
"""

from hubbub.audit import neighbour_pairs, zoo
from hubbub.audit._subprocess import CannotLoad, parse_literal, run_apart
from hubbub.audit.black_box import examine, lower_bound
from hubbub.audit.canaries import Guessed, OneRun, one_run, one_run_bound, one_run_p_value
from hubbub.audit.pair_search import Search, search
from hubbub.audit.report import Audit, CountedEvent

__all__ = [
    "Audit",
    "CannotLoad",
    "CountedEvent",
    "Guessed",
    "OneRun",
    "Search",
    "examine",
    "lower_bound",
    "neighbour_pairs",
    "one_run",
    "one_run_bound",
    "one_run_p_value",
    "parse_literal",
    "run_apart",
    "search",
    "zoo",
]
