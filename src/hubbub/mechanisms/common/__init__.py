"""What mechanisms share: grids, calibration, errors, additive noise on integers.

For ``mechanisms`` alone; what others may use is exported there. Start with ``mechanism`` and ``additive``.
"""
