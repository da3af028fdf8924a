"""Private training of torch models (the extra ``[torch]``).

- ``PrivateTrainer(model, loss, epsilon=1, delta=1e-5).fit(X, y)``: any model that keeps examples apart
- ``AdaptiveClip()``: a clipping norm that follows a quantile of the gradients' norms, accounted
- ``lora(model, rank=4)``, ``adapter(model, width=16)``, ``compacter(model)``: freeze a model, train small parts beside
  its layers; ``merge`` puts low-rank parts into them

Inside: ``layers``, ``convolutions`` and ``gradients`` (clipped sums), ``example_independence`` (who mixes examples),
``training_plan`` (all that is decided before data is read), ``training`` (the loop), ``checkpoints`` (save and go on),
``process_group`` (several processes). Start with ``trainer``, then ``training``.
"""

from hubbub.terms import MissingExtra, install_command

try:
    import torch  # noqa: F401
except ImportError:
    raise MissingExtra(
        "training networks needs torch.",
        why="Gradients of arbitrary models are taken by it.",
        fix=f"Install it: {install_command('torch')}.",
    ) from None

from hubbub.learn.torch.adapters import adapter, compacter, lora, merge
from hubbub.learn.torch.clipping import AdaptiveClip
from hubbub.learn.torch.trainer import Evaluation, PrivateTrainer

__all__ = ["AdaptiveClip", "Evaluation", "PrivateTrainer", "adapter", "compacter", "lora", "merge"]
