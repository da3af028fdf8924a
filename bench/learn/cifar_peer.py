"""Runs in an environment with Pillow: JPEG bytes in, pixels out."""

from __future__ import annotations

import io
import itertools
import sys
from pathlib import Path

import numpy as np
from PIL import Image


def main() -> None:
    """Decode every image."""
    data = np.load(sys.argv[1])
    ends, jpeg = data["offset"].tolist(), data["jpeg"]
    pictures = [jpeg[a:b].tobytes() for a, b in itertools.pairwise(ends)]
    pixels = np.stack([np.asarray(Image.open(io.BytesIO(one)).convert("RGB")) for one in pictures])
    with Path(sys.argv[2]).open("wb") as file:
        np.save(file, pixels)


if __name__ == "__main__":
    main()
