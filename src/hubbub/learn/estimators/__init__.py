"""One estimator per file, with scikit-learn's names.

Each says what it learns and gives ``base`` a plan: networks and linear models are trained step by step
(``network_classifier`` is what those that tell classes share), the others read a few noisy sums. From outside use
``hubbub.learn``. Start with ``logistic_regression``, then ``linear_regression``.
"""

__all__: list[str] = []  # from outside: hubbub.learn
