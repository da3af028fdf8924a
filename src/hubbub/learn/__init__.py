"""Private models with the scikit-learn conventions, and the solvers of the lectures.

- ``LogisticRegression(epsilon=1, delta=1e-6, norm=1.0).fit(X, y)``: two classes or more
- ``MLPClassifier(..., hidden=(64,))``: one or two hidden layers
- ``solvers``: projected SGD as in the lectures, gradient descent, output and objective perturbation

An estimator has ``guarantee_``, ``event_`` and ``receipt_``; ``account=`` charges a ledger first. Under it:

- ``engine``: sample -> clip -> sum -> noise -> step; ``sampling`` reads the sample from the event
- ``network``: clipped sums with norms in closed form; ``rounding``: how far such sums stray in doubles
- ``plans``: the noise that a promise asks for; ``recipes``: steps, batch, clipping and rate from public facts
- ``inputs``, ``charges``: reading X and y; reserving and storing
"""

from hubbub.learn import solvers
from hubbub.learn.logistic import LogisticRegression
from hubbub.learn.mlp import MLPClassifier

__all__ = ["LogisticRegression", "MLPClassifier", "solvers"]
