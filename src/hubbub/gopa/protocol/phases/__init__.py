"""The phases of a run, one module each: the body of its message, what a party says in it, how everybody folds it.

In order: ``join``, ``nonce``, ``share``, ``complaints``, ``cut``, ``reveal``, ``confirm``, ``dropout_recovery``; each
imports earlier ones alone. Below them stand ``folding`` (what all folds share) and ``input_proofs`` (what is proved of
an input). From outside only ``rules`` is used, the phases in a table. Start with ``join``.
"""

__all__: list[str] = []  # for hubbub.gopa alone
