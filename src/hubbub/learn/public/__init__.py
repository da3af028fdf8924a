"""Features from public knowledge: what was learned elsewhere, or needs no learning, costs no privacy.

- ``OrientedGradients((28, 28))``: images to features of length 1, in numpy
- ``FrozenEncoder(encode, name="...")``: a public encoder, such as of sentences, with its answers kept on disk

A public step looks at one row at a time. Put a private head behind it. Under them:

- ``arrays``: arithmetic in which no image touches another; ``upright``: an image without its slant;
  ``steps``: the rules
"""

from hubbub.learn.public.encoders import FrozenEncoder
from hubbub.learn.public.images import OrientedGradients

__all__ = ["FrozenEncoder", "OrientedGradients"]
