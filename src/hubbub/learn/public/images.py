"""Features of images that need no training: oriented gradients in two layers."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.learn.base.inputs import numbers_of
from hubbub.learn.base.parameters import pair_of
from hubbub.learn.public.arrays import Singles, halve_maps, oriented_growth, shrink_maps, unit_length
from hubbub.learn.public.transformers import PublicStep
from hubbub.learn.public.upright import upright
from hubbub.terms import MissingParameter, OutOfRange, WrongShape, whole

_BLOCK = 64  # images at once: they fit into a processor's own memory
_FINE, _COARSE = 8, 4  # cells on a side, of the first layer and of the second


class OrientedGradients(PublicStep):
    """How much an image grows in which direction, cell by cell; and how *that* grows: a scattering of two layers.

    The first layer is the gradient split by direction, smoothed and sampled in at most 8 x 8 cells: a histogram of
    oriented gradients [DT05]. The second does the same to each map of the first, in at most 4 x 4 cells, as a
    scattering transform does [BM13]. Roots are taken, so that strong edges do not drown weak ones. For 28 x 28 pixels
    and 8 directions these are 1416 features.

    ``shape`` is (height, width), or (height, width, 3) for colour; rows may be images or flat. Pixels lie between
    ``bounds``: others are clipped, and what is no finite number counts as the lowest. ``upright`` moves an image of one
    channel into the middle and takes its slant away first, which helps with handwriting.

    Guarantee: a row's features depend on this row alone, bit for bit; their L2 norm is at most 1. No privacy is spent.
    Because: nothing is fitted, and features of each row by itself are post-processing of it [DR14, Prop. 2.1].
    Not covered: running time.

    >>> import numpy as np
    >>> from hubbub.learn.public import OrientedGradients
    >>> images = np.random.default_rng(1).integers(0, 256, (3, 28, 28))
    >>> features = OrientedGradients((28, 28)).transform(images)
    >>> features.shape, bool(np.linalg.norm(features, axis=1).max() <= 1)
    ((3, 1416), True)
    """

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        *,
        directions: int = 8,
        bounds: tuple[float, float] = (0, 255),
        upright: bool = False,
    ) -> None:
        self.shape, self.directions, self.bounds, self.upright = shape, directions, bounds, upright

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """The features of each image, one row each, in single precision."""
        shape, directions, bounds = self._shape(), self._directions(), pair_of(self.bounds, "bounds")
        images = _as_images(X, shape)
        blocks = [images[start : start + _BLOCK] for start in range(0, len(images), _BLOCK)]
        features = [self._features(_scale_pixels(block, bounds), directions) for block in blocks or [images]]
        return np.concatenate(features)

    def _features(self, maps: Singles, directions: int) -> NDArray[np.float32]:
        """The features of a block of images."""
        maps = opponent_colours(maps) if len(maps) == 3 else upright(maps) if self.upright else maps
        edges = halve_maps(oriented_growth(maps, directions))
        of_brightness = edges.reshape(directions, len(maps), *edges.shape[1:])[:, 0]
        second = [
            _flat_features(shrink_maps(oriented_growth(edge[None], directions), _COARSE)) for edge in of_brightness
        ]
        parts = [_flat_features(shrink_maps(edges, _FINE)), np.concatenate(second)]
        if len(maps) == 3:
            parts.append(
                _flat_features(shrink_maps(np.concatenate([np.maximum(maps, 0), np.maximum(-maps, 0)]), _COARSE))
            )
        return np.ascontiguousarray(unit_length(np.concatenate([unit_length(np.sqrt(part)) for part in parts])).T)

    def _shape(self) -> tuple[int, int, int]:
        if self.shape is None:
            raise MissingParameter(
                "OrientedGradients needs shape=, the height and width of an image.",
                why="Rows of a table do not tell what was beside what.",
                fix="Write OrientedGradients((28, 28)), or (32, 32, 3) for colour.",
            )
        sides = tuple(whole(side, name="shape") for side in self.shape)
        if len(sides) not in (2, 3) or (len(sides) == 3 and sides[2] not in (1, 3)):
            raise WrongShape(
                "shape= must be (height, width) or (height, width, 3).",
                why="Images are grey or have three colours.",
                fix="Write shape=(28, 28) or shape=(32, 32, 3).",
            )
        if self.upright and len(sides) == 3 and sides[2] == 3:
            raise OutOfRange(
                "upright=True is for images of one channel.",
                why="It takes the slant of bright strokes on a dark ground, and a photograph has none.",
                fix="Leave it out.",
            )
        return sides[0], sides[1], sides[2] if len(sides) == 3 else 1

    def _directions(self) -> int:
        directions = whole(self.directions, name="directions")
        if directions < 4 or directions % 2:
            raise OutOfRange(
                f"directions must be even and at least 4 and is {directions}.",
                why="Each direction has its opposite.",
                fix="Write directions=8.",
            )
        return directions


def opponent_colours(colours: Singles) -> Singles:
    """Brightness, red against green, and yellow against blue, of images whose channels are red, green and blue."""
    red, green, blue = colours
    brightness = (red + green + blue) * np.float32(1 / 3)
    return np.stack([brightness, (red - green) * np.float32(0.5), (red + green - blue - blue) * np.float32(0.25)])


def _as_images(X: Any, shape: tuple[int, int, int]) -> NDArray[Any]:
    """X as images of this shape."""
    images = X if hasattr(X, "dtype") and hasattr(X, "reshape") else np.asarray(X)
    flat, sides = int(np.prod(shape)), tuple(images.shape[1:])
    known = {(flat,), shape, *([shape[:2]] if shape[2] == 1 else [])}
    if sides not in known:
        raise WrongShape(
            f"an image has the shape {sides}, and {shape} was declared.",
            why="Which pixel lies beside which follows from it.",
            fix="Declare the shape of the images that come, or give rows with one column per pixel.",
        )
    return np.asarray(images.reshape(len(images), *shape))


def _scale_pixels(images: NDArray[Any], bounds: tuple[float, float]) -> Singles:
    """Pixels from 0 to 1, with the images on the last axis."""
    lower, upper = bounds
    pixels = numbers_of(images)
    pixels = np.where(np.isfinite(pixels), np.clip(pixels, lower, upper), lower)
    scaled = ((pixels / 2 - lower / 2) / (upper / 2 - lower / 2)).astype(np.float32)
    return np.ascontiguousarray(np.moveaxis(scaled, (3, 0), (0, 3)))


def _flat_features(maps: Singles) -> Singles:
    return maps.reshape(math.prod(maps.shape[:-1]), maps.shape[-1])
