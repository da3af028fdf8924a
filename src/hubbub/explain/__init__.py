"""Odds, pictures and words for an epsilon: one place for notebook, command line, reports and console.

Nothing here reads data or spends budget. There is no default epsilon: each function wants one.

- ``epsilon(1, delta=1e-6)``       what it promises: odds, beliefs, the best test
- ``charlie(0.5)``                 one count with and without Charlie
- ``election({"A": 15, "B": 18}, epsilon=0.1)`` and ``auction([...], epsilon=1)``  choosing privately
- ``models(1)``                    central, GOPA, shuffled, local: the same question at four degrees of trust
- ``not_promised()``               what differential privacy does not promise
- ``charts``                       every chart of the project

Start with ``odds``.
"""

from hubbub.explain import attacker_bounds
from hubbub.explain.attacker_bounds import belief, true_positives
from hubbub.explain.auctions import EXAMPLE_BIDS, Auction, Pricing, auction
from hubbub.explain.crowd import Charlie, charlie
from hubbub.explain.elections import Election, election
from hubbub.explain.odds import Explanation, epsilon
from hubbub.explain.trust_models import Models, models, response_error
from hubbub.explain.what_dp_does_not_promise import NotPromised, not_promised
from hubbub.render import Document, Figure, Section, TextTable, charts

__all__ = [
    "EXAMPLE_BIDS",
    "Auction",
    "Charlie",
    "Document",
    "Election",
    "Explanation",
    "Figure",
    "Models",
    "NotPromised",
    "Pricing",
    "Section",
    "TextTable",
    "attacker_bounds",
    "auction",
    "belief",
    "charlie",
    "charts",
    "election",
    "epsilon",
    "models",
    "not_promised",
    "response_error",
    "true_positives",
]
