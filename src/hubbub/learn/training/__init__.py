"""Training loops and sums: sample, clip, sum, noise, step; second moments; boosted trees; how doubles stray.

``noisy_descent`` is the loop, ``network`` has clipped sums in closed form, ``calibration`` finds the noise,
``moments`` releases sums. For ``learn`` alone; start with ``noisy_descent``.
"""

__all__: list[str] = []  # for hubbub.learn alone
