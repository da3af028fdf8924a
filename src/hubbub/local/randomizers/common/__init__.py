"""What randomizers share: exact random words, hash functions, bit reports, kernels with and without numba.

For ``local`` alone.
"""
