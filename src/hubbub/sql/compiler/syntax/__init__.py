"""A question's text: parsed, checked node by node, its names looked up, its scalar expressions typed.

``parse`` -> ``allow_nodes`` -> ``scopes``; ``type_scalars`` is called wherever an expression is met. Nothing here knows
who a person is. Used by the compiler; start with ``scopes``.
"""

__all__: list[str] = []  # for hubbub.sql alone
