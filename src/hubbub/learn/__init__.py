"""Private models on scikit-learn's base classes, and the solvers of the lectures.

- ``LogisticRegression(epsilon=1, delta=1e-6, norm=1.0).fit(X, y)``: two classes or more
- ``MLPClassifier(..., hidden_layer_sizes=(64,))``, ``MLPRegressor``: one or two hidden layers
- ``LinearSVC``: a linear margin
- ``LinearRegression``, ``Ridge`` (norm and target_bounds), ``PCA`` (norm): from noisy second moments
- ``GaussianNB``, ``KMeans``, ``StandardScaler`` (bounds, or bounds="private"): from noisy sums of columns
- ``CentreScaler`` (norm): rows less a noisy mean, each of length 1
- ``BipartiteRanker``, ``MetricLearner``: losses over pairs of rows, of which each person is in many
- ``AdditiveTreesClassifier``, ``AdditiveTreesRegressor``: boosted trees of one column each, added up
- ``PATEClassifier`` (public rows without labels): teachers on shards, noisy votes, a student; ``pate`` has its parts
- ``make_pipeline(...)``: several steps that are charged once; ``PrivateSearch``: the best of many settings;
  ``cross_val_score``: never free
- ``public``: features that cost no privacy: oriented gradients of images, frozen encoders
- ``save(model, path)``, ``load(path)``: models in files, with guarantee and receipt; ``tables`` has their cards
- ``solvers``: projected SGD as in the lectures, gradient descent, output and objective perturbation

An estimator has ``guarantee_``, ``event_`` and ``receipt_``; ``account=`` charges a ledger first. Under it, in wings:

- ``base``: what every fit does, in order (``private_estimator``), from a plan that is made before a row is read
- ``estimators``: one per file; ``composition``: pipelines, search, cross-validation, held-out scores, charged once
- ``training``: sample -> clip -> sum -> noise -> step (``noisy_descent``), sums in exact integers (``moments``), and
  how much noise a promise asks for (``calibration``)
- ``tables``: tables with named columns, as ``hubbub fit`` reads them; model files and cards
- ``pate``, ``torch``, ``public``, ``solvers``: by their names; each has a door of its own
- ``stored_words``: the words under which models are stored and told apart

Start with ``base/private_estimator``, then ``estimators/logistic_regression``.
"""

from hubbub.terms import MissingExtra, install_command

try:
    import sklearn  # noqa: F401
except ImportError:
    raise MissingExtra(
        "training models needs scikit-learn.",
        why="Estimators stand on its base classes, so that its tools work with them.",
        fix=f"Install it: {install_command('learn')}.",
    ) from None

from hubbub.learn import public, solvers
from hubbub.learn.composition.cross_validation import cross_val_score
from hubbub.learn.composition.pipeline import Pipeline, make_pipeline
from hubbub.learn.composition.search import PrivateSearch
from hubbub.learn.estimators.additive_trees import AdditiveTreesClassifier, AdditiveTreesRegressor
from hubbub.learn.estimators.directions import CentreScaler
from hubbub.learn.estimators.kmeans import KMeans
from hubbub.learn.estimators.linear_regression import LinearRegression, Ridge
from hubbub.learn.estimators.linear_svc import LinearSVC
from hubbub.learn.estimators.logistic_regression import LogisticRegression
from hubbub.learn.estimators.mlp_classifier import MLPClassifier
from hubbub.learn.estimators.mlp_regressor import MLPRegressor
from hubbub.learn.estimators.naive_bayes import GaussianNB
from hubbub.learn.estimators.pairwise import BipartiteRanker, MetricLearner
from hubbub.learn.estimators.pca import PCA
from hubbub.learn.estimators.scaler import StandardScaler
from hubbub.learn.pate import PATEClassifier
from hubbub.learn.tables.model_file import load, save

__all__ = [
    "PCA",
    "AdditiveTreesClassifier",
    "AdditiveTreesRegressor",
    "BipartiteRanker",
    "CentreScaler",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "MetricLearner",
    "PATEClassifier",
    "Pipeline",
    "PrivateSearch",
    "Ridge",
    "StandardScaler",
    "cross_val_score",
    "load",
    "make_pipeline",
    "public",
    "save",
    "solvers",
]
