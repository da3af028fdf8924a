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


def added(values: Array) -> Array:
    """The sum over the first axis, by halves: the order of additions depends on the length of that axis alone."""
    while len(values) > 1:
        half = len(values) // 2
        pairs = values[:half] + values[half : 2 * half]
        values = cast("Array", np.concatenate([pairs, values[2 * half :]]) if len(values) % 2 else pairs)
    return cast("Array", values[0])


def unit(features: Singles) -> Singles:
    """Each image's features over their L2 norm; the norm is then at most 1, and 0 for an image without features."""
    lengths: Singles = np.maximum(np.sqrt(added(features * features)), _TINY)
    return features * (_BELOW_ONE / lengths)


def halved(maps: Singles) -> Singles:
    """Maps of half the height and width, smoothed with weights (1, 3, 3, 1); beyond the border there is nothing."""
    down = _smoothed(maps, maps[:, ::2], maps[:, 1::2], np.s_[:, 1:], np.s_[:, :-1])
    return _smoothed(down, down[:, :, ::2], down[:, :, 1::2], np.s_[:, :, 1:], np.s_[:, :, :-1])


def _smoothed(maps: Singles, even: Singles, odd: Singles, later: Any, sooner: Any) -> Singles:
    """3 (even + odd) + the odd one before + the even one after, along one axis."""
    both = odd.shape == even.shape
    found = even + odd if both else even.copy()
    if not both:
        found[sooner] += odd
    found *= np.float32(3)
    found[later] += odd[sooner] if both else odd
    found[sooner] += even[later]
    return found


def within(maps: Singles, cells: int) -> Singles:
    """Maps halved until they have at most so many cells on each side."""
    while max(maps.shape[1:3]) > cells:
        maps = halved(maps)
    return maps


def oriented(maps: Singles, directions: int) -> Singles:
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
    found = np.empty((directions, *maps.shape), np.float32)
    for k in range(directions // 2):
        angle, there, back = 2 * math.pi * k / directions, found[k], found[k + directions // 2]
        growth = across * np.float32(math.cos(angle))
        growth += np.multiply(down, np.float32(math.sin(angle)), out=there)
        np.maximum(np.subtract(growth, threshold, out=there), 0, out=there)
        np.negative(np.add(growth, threshold, out=back), out=back)
        np.maximum(back, 0, out=back)
    return found.reshape(directions * len(maps), *maps.shape[1:])
