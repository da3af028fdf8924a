"""The compiler: from a question's text to a plan and the statements that an engine runs, one pass per file.

``syntax/`` (``parse`` -> ``allow_nodes`` -> ``scopes``) -> ``bind_people`` -> ``build_question`` -> ``plan_aggregates``
-> ``bound_contribution`` -> ``plan_question`` -> ``lower_plan``. Nothing here reads a row or charges a ledger. Used by
``sql`` alone; start with ``compile``, which has the passes in order.
"""

__all__: list[str] = []  # for hubbub.sql alone
