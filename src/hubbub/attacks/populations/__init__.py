"""Invented people to attack: the same for the same seed, and nobody is harmed.

- ``classroom()``, ``skewed()``  a state with a voter roll, a hospital and a governor
- ``ratings()``                  films rated without names, and a few public reviews
- ``places()``                   where phones were, hour by hour
- ``friends()``                  one circle of friends on two networks
- ``ward()``                     a k-anonymous table in which some groups share one diagnosis

Used as ``attacks.populations``. Start with ``people``.
"""

from hubbub.attacks.populations.friends import Networks, friends
from hubbub.attacks.populations.people import GOVERNOR, QUASI_IDENTIFIERS, InventedState, classroom, skewed
from hubbub.attacks.populations.places import places
from hubbub.attacks.populations.ratings import Ratings, ratings
from hubbub.attacks.populations.wards import ward

__all__ = [
    "GOVERNOR",
    "QUASI_IDENTIFIERS",
    "InventedState",
    "Networks",
    "Ratings",
    "classroom",
    "friends",
    "places",
    "ratings",
    "skewed",
    "ward",
]
