"""Statistics about people who trust nobody: each randomizes at home, and only reports are collected.

- which randomizer            ``choose(domain=..., epsilon=...)``
- shares of few values        ``BinaryResponse`` ``KaryResponse`` ``UnaryEncoding`` ``SubsetSelection``
- shares of many values       ``ProjectiveGeometry`` (default) ``HadamardResponse`` ``OneBitHadamard`` ``LocalHashing``
- as others deployed them     ``Rappor`` ``CountMeanSketch`` ``HadamardCountMeanSketch`` ``OneBitMean`` ``DBitFlip``
- means of numbers            ``Hybrid`` (default) ``Duchi`` ``Piecewise`` ``SignResponse``
- noise added at home         ``LocalLaplace`` ``LocalGaussian``
- means of vectors            ``PrivUnitG``
- by a matrix of your own     ``FiniteRandomizer``
- what a report tells         ``exact_law`` ``largest_ratio``
- reports for years           ``Loloha`` ``Memoised`` ``Client`` ``Caps`` ``Lifetime``
- pairs of people             ``UStatistic`` ``MannWhitney`` ``AUC`` ``HierarchicalAUC`` ``TwoPartyUStatistic``
- ranges and curves           ``Ranges`` ``LocalCurve`` ``LocalVariance``
- strings and tables          ``HeavyHitters`` ``FrequentStrings`` ``JointTable``
- more than one round         ``TwoRounds``
- after the estimate          ``simplex`` ``iterative_bayes`` ``confidence_set``
- shuffling and groups        ``shuffle`` ``group`` ``Shuffler`` ``Hop``
- collecting                  ``Collection`` ``sign`` ``Collector`` ``Store`` ``Tally`` ``aggregate``

Every randomizer has ``randomize``, ``estimate``, ``event``, ``variance``, ``influence``, and states that add up.
"""

from hubbub.local import shuffle
from hubbub.local._estimates import Frequencies, MeanEstimate, VectorEstimate
from hubbub.local._pair_estimates import PairEstimate
from hubbub.local._randomizer import Randomizer, from_parameters
from hubbub.local.additive import LocalGaussian, LocalLaplace
from hubbub.local.aggregate import aggregate, export
from hubbub.local.apple import CountMeanSketch, HadamardCountMeanSketch
from hubbub.local.auc import AUC, HierarchicalAUC
from hubbub.local.binary import BinaryResponse, SignResponse
from hubbub.local.choose import Choice, choose
from hubbub.local.client import Client
from hubbub.local.collection import Collection
from hubbub.local.collector import Collector, Rules, Taken
from hubbub.local.comparisons import Comparison, MannWhitney
from hubbub.local.confidence import ConfidenceSet, confidence_set
from hubbub.local.curves import LocalCurve
from hubbub.local.groups import group
from hubbub.local.hadamard import HadamardResponse, OneBitHadamard
from hubbub.local.hashing import LocalHashing
from hubbub.local.heavy_hitters import FrequentStrings, HeavyHitters
from hubbub.local.interactive import RefinedMean, TwoRounds
from hubbub.local.joint import JointEstimate, JointTable
from hubbub.local.kary import KaryResponse
from hubbub.local.law import exact_law, largest_ratio
from hubbub.local.lifetime import Caps, Lifetime, Spent
from hubbub.local.loloha import Loloha
from hubbub.local.matrix import FiniteRandomizer
from hubbub.local.memoised import Memoised, new_secret
from hubbub.local.microsoft import DBitFlip, OneBitMean
from hubbub.local.mixnet import Hop, seal
from hubbub.local.postprocess import Processed, iterative_bayes, simplex
from hubbub.local.projective import ProjectiveGeometry
from hubbub.local.ranges import Ranges
from hubbub.local.rappor import Rappor
from hubbub.local.reals import Duchi, Hybrid, Piecewise
from hubbub.local.shuffler import Shuffler, permute
from hubbub.local.signing import key_text, new_key, open_signed, public_text, read_key, sign
from hubbub.local.store import Store
from hubbub.local.subset import SubsetSelection
from hubbub.local.tally import Tally
from hubbub.local.two_party import TwoPartyEstimate, TwoPartyUStatistic
from hubbub.local.unary import UnaryEncoding
from hubbub.local.ustatistics import UStatistic
from hubbub.local.variances import LocalVariance, Means, VarianceEstimate
from hubbub.local.vectors import PrivUnitG
from hubbub.local.wire import Batch, Report

__all__ = [
    "AUC",
    "Batch",
    "BinaryResponse",
    "Caps",
    "Choice",
    "Client",
    "Collection",
    "Collector",
    "Comparison",
    "ConfidenceSet",
    "CountMeanSketch",
    "DBitFlip",
    "Duchi",
    "FiniteRandomizer",
    "Frequencies",
    "FrequentStrings",
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
    "Memoised",
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
    "Spent",
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
    "exact_law",
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
    "shuffle",
    "sign",
    "simplex",
]
