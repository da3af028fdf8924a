"""Features from public knowledge: what was learned elsewhere, or needs no learning, costs no privacy.

- ``OrientedGradients((28, 28))``: images to features of length 1, in numpy
- ``FrozenEncoder(encode, name="...")``: a public encoder, such as of sentences, with its answers kept on disk

A public step looks at one row at a time. Put a private head behind it. Under them:

- ``transformers``: what both share, and the rules
- ``arrays``: arithmetic in which no image touches another; ``upright``: an image without its slant

Start with ``transformers``, then ``images``.
"""

from hubbub.learn.public.encoders import FrozenEncoder
from hubbub.learn.public.images import OrientedGradients

__all__ = ["FrozenEncoder", "OrientedGradients"]
