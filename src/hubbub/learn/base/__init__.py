"""What every estimator stands on: a fit in order, reading X and y, labels, targets, private counts, charges.

``private_estimator`` is the one way through a fit, on scikit-learn's own base classes. A kind of estimator gives it a
plan (``fit_plan``): of a network (``network_plan``), or of noisy sums (``sum_plan``, ``column_bounds``). Start with
``private_estimator``.
"""

from hubbub.learn.base.fit_plan import Watch, Watcher, nobody

__all__ = ["Watch", "Watcher", "nobody"]
