"""What randomizers share: exact random words, hash functions, bit reports, kernels with and without numba.

``values`` maps whatever a person holds to an integer code, ``exact_words`` draws from distributions in integers,
``hash_family`` and ``projective_space`` say which values share a report. For ``local`` alone. Start with
``exact_words``.
"""

__all__: list[str] = []  # for hubbub.local alone
