"""What every estimator stands on: ``fit`` in order, reading X and y, labels, targets, private counts, charges.

``private_estimator`` is the one way through a fit; ``network_estimator``, ``sum_estimator`` and ``bounded_estimator``
are its kinds. Start with ``private_estimator``.
"""

from hubbub.learn.base.private_estimator import Watch, Watcher, nobody

__all__ = ["Watch", "Watcher", "nobody"]
