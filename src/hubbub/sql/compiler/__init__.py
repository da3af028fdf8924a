"""The compiler: from a question's text to a plan and the statements that an engine runs, one pass per file.

``parse`` -> ``allow_nodes`` -> ``build_question`` (with ``scopes``, ``type_scalars``, ``bind_people``, ``aggregates``)
-> ``bound_contribution`` -> ``plan_question`` -> ``print_plan``. Nothing here reads a row or charges a ledger. Used by
``sql`` alone; start with ``plan_question``.
"""
