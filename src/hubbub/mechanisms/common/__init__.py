"""What mechanisms share: grids, calibration, errors, additive noise on integers.

What releases and SQL need of it is listed below. Start with ``mechanism`` and ``additive``.
"""

from hubbub.mechanisms.common.error_quantiles import gaussian_error, laplace_error
from hubbub.mechanisms.common.grid_values import integer_array
from hubbub.mechanisms.common.key_weights import KeyWeights
from hubbub.mechanisms.common.noise_combinations import sum_critical_value
from hubbub.mechanisms.common.noisy_curve import NoisyCurve, rank_widths

__all__ = [
    "KeyWeights",
    "NoisyCurve",
    "gaussian_error",
    "integer_array",
    "laplace_error",
    "rank_widths",
    "sum_critical_value",
]
