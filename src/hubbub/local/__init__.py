"""Statistics about people who trust nobody: each randomizes at home, and only reports are collected.

- which randomizer            ``choose(domain=..., epsilon=...)``
- shares of few values        ``BinaryResponse`` ``KaryResponse`` ``UnaryEncoding`` ``SubsetSelection``
- shares of many values       ``ProjectiveGeometry`` (default) ``HadamardResponse`` ``OneBitHadamard`` ``LocalHashing``
- as others deployed them     ``Rappor`` ``CountMeanSketch`` ``HadamardCountMeanSketch`` ``OneBitMean`` ``DBitFlip``
- means of numbers            ``Hybrid`` (default) ``Duchi`` ``Piecewise`` ``SignResponse``
- noise added at home         ``LocalLaplace`` ``LocalGaussian``
- means of vectors            ``PrivUnitG``
- by a matrix of your own     ``FiniteRandomizer``
- what a report tells         ``exact_distribution`` ``largest_ratio``
- reports for years           ``Loloha`` ``Memoized`` ``Client`` ``Caps`` ``Lifetime``
- pairs of people             ``UStatistic`` ``MannWhitney`` ``AUC`` ``HierarchicalAUC`` ``TwoPartyUStatistic``
- ranges and curves           ``Ranges`` ``LocalCurve`` ``LocalVariance``
- strings and tables          ``HeavyHitters`` ``FrequentStrings`` ``JointTable``
- more than one round         ``TwoRounds``
- after the estimate          ``simplex`` ``iterative_bayes`` ``confidence_set``
- shuffling and groups        ``shuffle_bounds`` ``group`` ``Shuffler`` ``Hop``
- collecting                  ``Collection`` ``sign`` ``Collector`` ``Store`` ``Tally`` ``aggregate``

Every randomizer has ``randomize``, ``estimate``, ``event``, ``variance``, ``influence``, and states that add up.

Start with ``randomizers/base``, then ``randomizers/kary``.
"""

from hubbub.local.amplification import shuffle_bounds
from hubbub.local.amplification.group_privacy import group
from hubbub.local.collection.aggregate import aggregate, export
from hubbub.local.collection.client import Client
from hubbub.local.collection.collection import Collection
from hubbub.local.collection.collector import Collector, Rules, Taken
from hubbub.local.collection.report_store import Store
from hubbub.local.collection.report_wire import Batch, Report
from hubbub.local.collection.signed_configuration import key_text, new_key, open_signed, public_text, read_key, sign
from hubbub.local.collection.tally import Tally
from hubbub.local.estimates import FrequencyEstimate, MeanEstimate, VectorEstimate
from hubbub.local.longitudinal.lifetime import Caps, CollectionSpending, Lifetime
from hubbub.local.longitudinal.loloha import Loloha
from hubbub.local.longitudinal.memoized import Memoized, new_secret
from hubbub.local.longitudinal.rappor import Rappor
from hubbub.local.longitudinal.telemetry import DBitFlip, OneBitMean
from hubbub.local.randomizers.additive import LocalGaussian, LocalLaplace
from hubbub.local.randomizers.base import Randomizer, from_parameters
from hubbub.local.randomizers.binary import BinaryResponse, SignResponse
from hubbub.local.randomizers.bounded_means import Duchi, Hybrid, Piecewise
from hubbub.local.randomizers.choose import Choice, choose
from hubbub.local.randomizers.count_mean_sketch import CountMeanSketch, HadamardCountMeanSketch
from hubbub.local.randomizers.exact_distribution import exact_distribution, largest_ratio
from hubbub.local.randomizers.finite import FiniteRandomizer
from hubbub.local.randomizers.hadamard import HadamardResponse, OneBitHadamard
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.local.randomizers.local_hashing import LocalHashing
from hubbub.local.randomizers.privunit import PrivUnitG
from hubbub.local.randomizers.projective import ProjectiveGeometry
from hubbub.local.randomizers.subset import SubsetSelection
from hubbub.local.randomizers.unary import UnaryEncoding
from hubbub.local.shuffling.mixnet import Hop, seal
from hubbub.local.shuffling.shuffler import Shuffler, permute
from hubbub.local.statistics.auc import AUC, HierarchicalAUC
from hubbub.local.statistics.confidence_region import ConfidenceSet, confidence_set
from hubbub.local.statistics.cumulative_curves import LocalCurve
from hubbub.local.statistics.group_comparison import GroupComparison, MannWhitney
from hubbub.local.statistics.heavy_hitters import FrequentStrings, HeavyHitters
from hubbub.local.statistics.joint import JointEstimate, JointTable
from hubbub.local.statistics.pair_estimates import PairEstimate
from hubbub.local.statistics.postprocess import Processed, iterative_bayes, simplex
from hubbub.local.statistics.ranges import Ranges
from hubbub.local.statistics.two_party import TwoPartyEstimate, TwoPartyUStatistic
from hubbub.local.statistics.two_round_mean import RefinedMean, TwoRounds
from hubbub.local.statistics.ustatistics import UStatistic
from hubbub.local.statistics.variances import LocalVariance, Means, VarianceEstimate

__all__ = [
    "AUC",
    "Batch",
    "BinaryResponse",
    "Caps",
    "Choice",
    "Client",
    "Collection",
    "CollectionSpending",
    "Collector",
    "ConfidenceSet",
    "CountMeanSketch",
    "DBitFlip",
    "Duchi",
    "FiniteRandomizer",
    "FrequencyEstimate",
    "FrequentStrings",
    "GroupComparison",
    "HadamardCountMeanSketch",
    "HadamardResponse",
    "HeavyHitters",
    "HierarchicalAUC",
    "Hop",
    "Hybrid",
    "JointEstimate",
    "JointTable",
    "KaryResponse",
    "Lifetime",
    "LocalCurve",
    "LocalGaussian",
    "LocalHashing",
    "LocalLaplace",
    "LocalVariance",
    "Loloha",
    "MannWhitney",
    "MeanEstimate",
    "Means",
    "Memoized",
    "OneBitHadamard",
    "OneBitMean",
    "PairEstimate",
    "Piecewise",
    "PrivUnitG",
    "Processed",
    "ProjectiveGeometry",
    "Randomizer",
    "Ranges",
    "Rappor",
    "RefinedMean",
    "Report",
    "Rules",
    "Shuffler",
    "SignResponse",
    "Store",
    "SubsetSelection",
    "Taken",
    "Tally",
    "TwoPartyEstimate",
    "TwoPartyUStatistic",
    "TwoRounds",
    "UStatistic",
    "UnaryEncoding",
    "VarianceEstimate",
    "VectorEstimate",
    "aggregate",
    "choose",
    "confidence_set",
    "exact_distribution",
    "export",
    "from_parameters",
    "group",
    "iterative_bayes",
    "key_text",
    "largest_ratio",
    "new_key",
    "new_secret",
    "open_signed",
    "permute",
    "public_text",
    "read_key",
    "seal",
    "shuffle_bounds",
    "sign",
    "simplex",
]
