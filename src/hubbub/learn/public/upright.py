"""An image put upright: moved to the middle and sheared by its own slant."""

from __future__ import annotations

import numpy as np

from hubbub.learn.public.arrays import Singles, sum_by_halves

_STEEPEST = np.float32(0.8)  # columns per line
_FLAT = np.float32(0.5)  # added to the variance of lines, for images of a line or less
_EMPTY = np.float32(1e-6)


def upright(images: Singles) -> Singles:
    """Images of one channel whose mass lies in the middle and leans to no side; each by its own moments alone."""
    [pixels] = images
    height, width = pixels.shape[:2]
    lines, columns = _pixel_places(height)[:, None], _pixel_places(width)[:, None]
    by_line, mass = sum_by_halves(np.moveaxis(pixels, 1, 0)), sum_by_halves(sum_by_halves(pixels)) + _EMPTY
    line = sum_by_halves(by_line * lines) / mass
    column = sum_by_halves(sum_by_halves(pixels) * columns) / mass
    away = lines - line
    variance = sum_by_halves(by_line * away * away) / mass
    sideways = sum_by_halves(np.moveaxis(pixels * columns, 1, 0)) - by_line * column
    slant = np.clip(sum_by_halves(sideways * away) / mass / (variance + _FLAT), -_STEEPEST, _STEEPEST)
    return _shift_lines(pixels, slant * away + (column - np.float32((width - 1) / 2)))[None]


def _pixel_places(size: int) -> Singles:
    return np.arange(size, dtype=np.float32)


def _shift_lines(pixels: Singles, shifts: Singles) -> Singles:
    """Each line of each image moved to the left by its shift, between pixels too; from beyond the border comes 0."""
    height, width, images = pixels.shape
    padded = np.zeros((height, 3 * width + 1, images), np.float32)
    padded[:, width : 2 * width] = pixels
    shifts = np.clip(shifts, -width, width)
    whole = np.floor(shifts)
    share = (shifts - whole)[:, None]
    first = (np.arange(height)[:, None] * padded.shape[1] + width + whole.astype(np.int64)) * images + np.arange(images)
    at = first[:, None] + np.arange(width + 1)[:, None] * images
    moved = np.take(padded.ravel(), at)
    between: Singles = moved[:, :-1] * (1 - share) + moved[:, 1:] * share
    return between
