"""One randomizer per file: k-ary, unary, hashing, Hadamard, subset, projective, means, vectors.

From outside use ``hubbub.local``. Start with ``base``, then ``two_sets`` (the lemma that most rest on), then ``kary``.
"""

__all__: list[str] = []  # from outside: hubbub.local
