"""Tables to hand out, and what each is worth.

- ``mondrian(table, quasi_identifiers=[...], k=10)``  k-anonymity by halving: no guarantee against what people know
"""

from hubbub.publish.mondrian import Anonymised, Metrics, mondrian

__all__ = ["Anonymised", "Metrics", "mondrian"]
