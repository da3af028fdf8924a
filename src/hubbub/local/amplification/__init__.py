"""What shuffling and groups do to epsilon: clones, the privacy blanket, bounds for shuffled reports, group privacy.

From outside use ``hubbub.local``. Start with ``shuffle_bounds``.
"""

from hubbub.local.amplification import shuffle_bounds

__all__ = ["shuffle_bounds"]
