"""Arithmetic on many images at once in which no image can touch another, not even in the last digit.

Images stand side by side on the *last* axis, and only single additions, multiplications, divisions, roots, maxima and
comparisons along the other axes are used: each is rounded correctly by itself, whatever its neighbours are [Hig02].
A matrix product or numpy's own ``sum`` may add in another order when the batch has another size.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Singles: TypeAlias = NDArray[np.float32]  # (channels, height, width, images), or (features, images)
Array = TypeVar("Array", bound=NDArray[Any])

_TINY = np.float32(1e-12)
_BELOW_ONE = np.float32(1 - 2.0**-18)  # covers the rounding of a norm in single precision


def sum_by_halves(values: Array) -> Array:
    """The sum over the first axis, by halves: the order of additions depends on the length of that axis alone."""
    while len(values) > 1:
        half = len(values) // 2
        pairs = values[:half] + values[half : 2 * half]
        values = cast("Array", np.concatenate([pairs, values[2 * half :]]) if len(values) % 2 else pairs)
    return cast("Array", values[0])


def unit_length(features: Singles) -> Singles:
    """Each image's features over their L2 norm; the norm is then at most 1, and 0 for an image without features."""
    lengths: Singles = np.maximum(np.sqrt(sum_by_halves(features * features)), _TINY)
    return features * (_BELOW_ONE / lengths)


def halve_maps(maps: Singles) -> Singles:
    """Maps of half the height and width, smoothed with weights (1, 3, 3, 1); beyond the border there is nothing."""
    down = _smooth_axis(maps, maps[:, ::2], maps[:, 1::2], np.s_[:, 1:], np.s_[:, :-1])
    return _smooth_axis(down, down[:, :, ::2], down[:, :, 1::2], np.s_[:, :, 1:], np.s_[:, :, :-1])


def _smooth_axis(maps: Singles, even: Singles, odd: Singles, later: Any, sooner: Any) -> Singles:
    """3 (even + odd) + the odd one before + the even one after, along one axis."""
    both = odd.shape == even.shape
    smooth = even + odd if both else even.copy()
    if not both:
        smooth[sooner] += odd
    smooth *= np.float32(3)
    smooth[later] += odd[sooner] if both else odd
    smooth[sooner] += even[later]
    return smooth


def shrink_maps(maps: Singles, cells: int) -> Singles:
    """Maps halved until they have at most so many cells on each side."""
    while max(maps.shape[1:3]) > cells:
        maps = halve_maps(maps)
    return maps


def oriented_growth(maps: Singles, directions: int) -> Singles:
    """For each map and each of an even number of directions, how much the map grows that way.

    What is kept of a gradient g in direction u is max(0, u.g - cos(2 pi/directions) |g|): nothing, unless the angle
    between the two is below one step between directions. Opposite directions differ: a bright line has two sides.
    """
    padded = np.zeros((len(maps), maps.shape[1] + 2, maps.shape[2] + 2, maps.shape[3]), np.float32)
    padded[:, 1:-1, 1:-1] = maps
    across = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    down = padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
    threshold = np.sqrt(across * across + down * down)
    threshold *= np.float32(math.cos(2 * math.pi / directions))
    growths = np.empty((directions, *maps.shape), np.float32)
    for k in range(directions // 2):
        angle, there, back = 2 * math.pi * k / directions, growths[k], growths[k + directions // 2]
        growth = across * np.float32(math.cos(angle))
        growth += np.multiply(down, np.float32(math.sin(angle)), out=there)
        np.maximum(np.subtract(growth, threshold, out=there), 0, out=there)
        np.negative(np.add(growth, threshold, out=back), out=back)
        np.maximum(back, 0, out=back)
    return growths.reshape(directions * len(maps), *maps.shape[1:])
