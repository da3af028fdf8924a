"""An image put upright: moved to the middle and sheared by its own slant."""

from __future__ import annotations

import numpy as np

from hubbub.learn.public.arrays import Singles, added

_STEEPEST = np.float32(0.8)  # columns per line
_FLAT = np.float32(0.5)  # added to the variance of lines, for images of a line or less
_EMPTY = np.float32(1e-6)


def upright(images: Singles) -> Singles:
    """Images of one channel whose mass lies in the middle and leans to no side; each by its own moments alone."""
    [pixels] = images
    height, width = pixels.shape[:2]
    lines, columns = _places(height)[:, None], _places(width)[:, None]
    by_line, mass = added(np.moveaxis(pixels, 1, 0)), added(added(pixels)) + _EMPTY
    line = added(by_line * lines) / mass
    column = added(added(pixels) * columns) / mass
    away = lines - line
    variance = added(by_line * away * away) / mass
    sideways = added(np.moveaxis(pixels * columns, 1, 0)) - by_line * column
    slant = np.clip(added(sideways * away) / mass / (variance + _FLAT), -_STEEPEST, _STEEPEST)
    return _shifted(pixels, slant * away + (column - np.float32((width - 1) / 2)))[None]


def _places(size: int) -> Singles:
    return np.arange(size, dtype=np.float32)


def _shifted(pixels: Singles, shifts: Singles) -> Singles:
    """Each line of each image moved to the left by its shift, between pixels too; from beyond the border comes 0."""
    height, width, images = pixels.shape
    padded = np.zeros((height, 3 * width + 1, images), np.float32)
    padded[:, width : 2 * width] = pixels
    shifts = np.clip(shifts, -width, width)
    whole = np.floor(shifts)
    share = (shifts - whole)[:, None]
    first = (np.arange(height)[:, None] * padded.shape[1] + width + whole.astype(np.int64)) * images + np.arange(images)
    at = first[:, None] + np.arange(width + 1)[:, None] * images
    found = np.take(padded.ravel(), at)
    between: Singles = found[:, :-1] * (1 - share) + found[:, 1:] * share
    return between
