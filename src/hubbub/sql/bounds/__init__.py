"""Bounds found privately: ``db.suggest_bounds``, charged like any question.

``suggest`` asks for noisy counts of people by bucket; ``buckets`` are the public cells; ``suggestion`` is what people
see. Start with ``suggest``.
"""

__all__: list[str] = []  # for hubbub.sql alone
