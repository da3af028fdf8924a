"""Estimators made of estimators, charged once: pipelines, private search, cross-validation, held-out scores.

``stages`` plans several fits as one run. Start with ``pipeline``.
"""

from hubbub.learn.composition.held_out_score import ModelScore

__all__ = ["ModelScore"]
