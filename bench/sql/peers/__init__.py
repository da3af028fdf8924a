"""One adapter for each peer: ``load`` the Parquet file, then the questions by name. Each runs in its own interpreter.

All protect the same unit (a person), spend epsilon 1 and delta 1e-8 on one question, clamp amounts to [0, 200] (for
quantiles [0, 500]) and hold a person to 4 regions x 30 rows, 20 products x 2 rows, or 40 rows.
"""

from __future__ import annotations

EPSILON, DELTA = 1.0, 1e-8
CLAMP, WIDE = (0.0, 200.0), (0.0, 500.0)
ROWS_PER_PERSON = 40
REGIONS_EACH, ROWS_PER_REGION = 4, 30
PRODUCTS_EACH, ROWS_PER_PRODUCT = 20, 2
REGIONS = [f"R{i:02d}" for i in range(50)]
QUESTIONS = {"counts": "Q2", "sums": "Q3", "quantiles": "Q4", "products": "Q5"}
