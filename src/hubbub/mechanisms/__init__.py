"""One file per mechanism: calibrate, release, and the event it leaves behind.

Every mechanism is made from a sensitivity and one way to state its cost (there is no default), and then has

- ``event``: what it does, as data for ``hubbub.accounting`` and the ledger;
- ``release(...)``: the answer with fresh noise;
- ``error(confidence)``: how far the answer strays from the truth, known beforehand.

A mechanism adds the noise it promises. It does not bound what one person contributes and does not charge
a ledger; the rooms that read data do both.

``common`` is what they share, ``workload`` the matrix mechanism. Start with ``laplace``, then ``common/additive``.
"""

from hubbub.mechanisms.binary_tree import TreeCounter
from hubbub.mechanisms.exponential import Exponential
from hubbub.mechanisms.gaussian import DiscreteGaussian, Gaussian
from hubbub.mechanisms.histogram import Histogram
from hubbub.mechanisms.joint_quantiles import JointQuantiles
from hubbub.mechanisms.laplace import Geometric, Laplace
from hubbub.mechanisms.noisy_cdf import NoisyCDF
from hubbub.mechanisms.partition_selection import OptimalPartitionSelection, ThresholdPartitionSelection
from hubbub.mechanisms.private_range import FindRange
from hubbub.mechanisms.quantile import Quantile
from hubbub.mechanisms.randomized_response import RandomizedResponse
from hubbub.mechanisms.report_noisy_max import PermuteAndFlip, ReportNoisyMax
from hubbub.mechanisms.sample_aggregate import SampleAggregate
from hubbub.mechanisms.sparse_vector import AboveThreshold
from hubbub.mechanisms.weighted_selection import WeightedPartitionSelection
from hubbub.mechanisms.workload.mechanism import Workload

__all__ = [
    "AboveThreshold",
    "DiscreteGaussian",
    "Exponential",
    "FindRange",
    "Gaussian",
    "Geometric",
    "Histogram",
    "JointQuantiles",
    "Laplace",
    "NoisyCDF",
    "OptimalPartitionSelection",
    "PermuteAndFlip",
    "Quantile",
    "RandomizedResponse",
    "ReportNoisyMax",
    "SampleAggregate",
    "ThresholdPartitionSelection",
    "TreeCounter",
    "WeightedPartitionSelection",
    "Workload",
]
