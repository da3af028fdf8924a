"""What exact, "anonymized" and noisy answers give away: the attacks of the lectures, as functions with a report.

Every attack takes plain tables, arrays, models, or anything with ``.sql``, and most hand back an ``Attack``: the
numbers, a picture, what it means and what would have helped, as text, HTML and JSON.

Tables without names:

- ``link(released, known, on=[...])``       put names to rows with a public table that has the same columns
- ``uniqueness(table, on=[...])``           who is alone with a few ordinary values, and which columns make it so
- ``governor()``                            the story of the governor and the voter roll
- ``link_sparse(released, public, ...)``    a few ratings or purchases find a record (Netflix and IMDb)
- ``unicity(trajectories, ...)``            four points in space and time
- ``match_graphs(released, known, ...)``    one network laid over another (Twitter and Flickr)
- ``homogeneity(table, ...)``               k people with one secret
- ``background(table, ...)``                ... and what ruling out a value leaves

Exact answers:

- ``differencing(interface, ...)``          three counts tell of Bill's flu
- ``newcomer(before, after)``               an average before and after somebody joins
- ``differences(log)``                      pairs in a query log that single out a few
- ``isolate(masks, answers)``               everybody whose value follows from any combination of sums

Many answers:

- ``reconstruct(queries, answers)``         everybody's secret bit from noisy counts
- ``reconstruct_from(interface, ...)``      ... asking the counts first
- ``reconstruct_all_subsets(oracle, ...)``  the theorem: all subsets, all but 4E bits
- ``trace(published, reference, ...)``      who took part, from published shares (Homer)
- ``average_repeats(interface, ...)``       the same question again and again
- ``follow(reports)``                       one person through reports over time: Alice stops buying bread

Models:

- ``shadow_models(train, X, y)``            then ``lira``, ``shadow_attack``, ``confidence_attack``: who was trained on
- ``invert_linear``, ``invert_logistic``    one person's record from two models
- ``extract(model, prefix, secret=...)``    a secret that a language model repeats

And ``populations``: invented people to try all this on.

Start with ``report`` (what an attack hands back), then ``linkage/linkage``.
"""

from hubbub.attacks import populations
from hubbub.attacks.linkage.background import Background, background
from hubbub.attacks.linkage.governor import Governor, governor
from hubbub.attacks.linkage.homogeneity import Homogeneity, homogeneity
from hubbub.attacks.linkage.linkage import Linkage, link
from hubbub.attacks.linkage.social_graphs import GraphMatch, match_graphs
from hubbub.attacks.linkage.sparse_linkage import Lead, SparseLinkage, link_sparse
from hubbub.attacks.linkage.unicity import Unicity, unicity
from hubbub.attacks.linkage.uniqueness import Uniqueness, uniqueness
from hubbub.attacks.models.diaries import diaries
from hubbub.attacks.models.extraction import Extraction, extract
from hubbub.attacks.models.frequency_membership import (
    Tracing,
    homer_statistic,
    inner_product,
    likelihood_ratio,
    separation,
    trace,
)
from hubbub.attacks.models.inversion import Inversion, invert_linear, invert_logistic
from hubbub.attacks.models.lira import lira, lira_scores
from hubbub.attacks.models.model_leak import ModelMembership, TrainingComparison
from hubbub.attacks.models.ngrams import NgramModel, train_ngrams, train_private_ngrams
from hubbub.attacks.models.shadow_models import Shadows, confidence_attack, shadow_attack, shadow_models
from hubbub.attacks.queries.averaging import Repeats, average_repeats, repeats_needed
from hubbub.attacks.queries.differencing import Differencing, NoisyAnswer, differencing
from hubbub.attacks.queries.isolation import Isolation, isolate
from hubbub.attacks.queries.log_differences import Difference, Differences, Isolated, differences
from hubbub.attacks.queries.newcomer_salary import Newcomer, newcomer
from hubbub.attacks.queries.tracking import Following, follow
from hubbub.attacks.reconstruction.all_subsets import AllSubsets, all_subsets, reconstruct_all_subsets
from hubbub.attacks.reconstruction.reconstruction import Reconstruction, random_ranges, random_subsets, reconstruct
from hubbub.attacks.reconstruction.sql_reconstruction import reconstruct_from
from hubbub.attacks.report import Attack
from hubbub.attacks.roc import Roc, roc_svg

__all__ = [
    "AllSubsets",
    "Attack",
    "Background",
    "Difference",
    "Differences",
    "Differencing",
    "Extraction",
    "Following",
    "Governor",
    "GraphMatch",
    "Homogeneity",
    "Inversion",
    "Isolated",
    "Isolation",
    "Lead",
    "Linkage",
    "ModelMembership",
    "Newcomer",
    "NgramModel",
    "NoisyAnswer",
    "Reconstruction",
    "Repeats",
    "Roc",
    "Shadows",
    "SparseLinkage",
    "Tracing",
    "TrainingComparison",
    "Unicity",
    "Uniqueness",
    "all_subsets",
    "average_repeats",
    "background",
    "confidence_attack",
    "diaries",
    "differences",
    "differencing",
    "extract",
    "follow",
    "governor",
    "homer_statistic",
    "homogeneity",
    "inner_product",
    "invert_linear",
    "invert_logistic",
    "isolate",
    "likelihood_ratio",
    "link",
    "link_sparse",
    "lira",
    "lira_scores",
    "match_graphs",
    "newcomer",
    "populations",
    "random_ranges",
    "random_subsets",
    "reconstruct",
    "reconstruct_all_subsets",
    "reconstruct_from",
    "repeats_needed",
    "roc_svg",
    "separation",
    "shadow_attack",
    "shadow_models",
    "trace",
    "train_ngrams",
    "train_private_ngrams",
    "unicity",
    "uniqueness",
]
