"""Tables to hand out, and what each is worth.

Partition models: rows are made alike until nobody is alone. No guarantee against what people know; each report says so.

- ``mondrian(table, quasi_identifiers=[...], k=10)``     by cutting: strict or relaxed, ordered columns or trees
- ``full_domain(table, ..., k=10, suppression=0.05)``    each column at one level, found in the lattice of levels
- ``KAnonymity``, ``DistinctL``, ``EntropyL``, ``RecursiveL``, ``TCloseness``   the models, which combine
- ``Intervals``, ``Periods``, ``Prefixes``, ``Categories``, ``read_hierarchies``  how values are made coarser
- ``check(table, quasi_identifiers=[...], sensitive=...)``   what a table fulfils
- ``beliefs(table, ...)``     Bayes-optimal privacy as a measure: how far beliefs move

Synthetic data with differential privacy: made-up rows that agree with noisy marginals.

- ``synthesize(table, epsilon=1, delta=1e-9, domain={...})``   by AIM or MST, or column by column
- ``synthesize_linked(tables, parent=..., key=..., links=[ForeignKey(...)], ...)``   people and what belongs to them
- ``Numeric``, ``Categorical``, ``Date``, ``SurrogateKey``   what may stand in a column; ``read_domain(file)``

Tables of counts with differential privacy: noisy, and made to add up.

- ``marginals(table, of=[["age", "sex"], ...], domain={...}, ...)``   counts by a few columns at a time
- ``top_down(table, levels=["region", "town"], places=[...], ...)``   counts for every place of a tree
- ``DailySeries(places=[...], first=..., days=...)``   visitors by place and day, against a baseline

What a table is worth:

- ``compare(tables, holdout=public_rows, domain={...})``   distances, errors of counts, models; beside two baselines
- ``compare(tables, private=rows, epsilon=..., delta=...)``   the same about private rows, with noise and charged

What is private is charged before a row is read; a table may be given as the path of a CSV or Parquet file.
Inside: ``unread_table`` and ``described_table`` (columns now, rows later), ``domains``, ``column_views`` and ``cells``
(values to cells and back), ``privacy_units`` (rows per person), ``marginal_counts`` (counts and choices with noise),
``jobs`` and ``measured_marginals`` (what is charged and kept), ``graphical`` (one distribution that fits noisy
marginals): all that ``synthetic`` and ``tables`` share. Start with ``domains``, then ``tables/marginals``.
"""

from hubbub.publish.anonymize.anonymized_table import Anonymized
from hubbub.publish.anonymize.beliefs import Beliefs, beliefs
from hubbub.publish.anonymize.checks import Checked, ColumnDiversity, check
from hubbub.publish.anonymize.equivalence_classes import EquivalenceClasses
from hubbub.publish.anonymize.full_domain import full_domain
from hubbub.publish.anonymize.hierarchies import Categories, Hierarchy, Intervals, Periods, Prefixes, read_hierarchies
from hubbub.publish.anonymize.identifiers import refuse_identifiers
from hubbub.publish.anonymize.losses import Metrics
from hubbub.publish.anonymize.manifest import Manifest, ManifestColumn
from hubbub.publish.anonymize.mondrian import mondrian
from hubbub.publish.anonymize.privacy_models import (
    DistinctL,
    EntropyL,
    KAnonymity,
    PrivacyModel,
    RecursiveL,
    TCloseness,
)
from hubbub.publish.column_views import read_domain, table_domain
from hubbub.publish.described_table import described_table
from hubbub.publish.domains import (
    Categorical,
    ColumnDomain,
    Date,
    Numeric,
    SurrogateKey,
    domain_for,
    is_private,
)
from hubbub.publish.marginal_counts import CodedRows
from hubbub.publish.metrics import Scores, UtilityComparison, UtilityScore, compare
from hubbub.publish.synthetic import ForeignKey, LinkedSynthetic, Synthetic, synthesize, synthesize_linked
from hubbub.publish.tables import DailySeries, Published, marginals, top_down
from hubbub.publish.unread_table import Unread, unread_of
from hubbub.schema import PRIVATE

__all__ = [
    "PRIVATE",
    "Anonymized",
    "Beliefs",
    "Categorical",
    "Categories",
    "Checked",
    "CodedRows",
    "ColumnDiversity",
    "ColumnDomain",
    "DailySeries",
    "Date",
    "DistinctL",
    "EntropyL",
    "EquivalenceClasses",
    "ForeignKey",
    "Hierarchy",
    "Intervals",
    "KAnonymity",
    "LinkedSynthetic",
    "Manifest",
    "ManifestColumn",
    "Metrics",
    "Numeric",
    "Periods",
    "Prefixes",
    "PrivacyModel",
    "Published",
    "RecursiveL",
    "Scores",
    "SurrogateKey",
    "Synthetic",
    "TCloseness",
    "Unread",
    "UtilityComparison",
    "UtilityScore",
    "beliefs",
    "check",
    "compare",
    "described_table",
    "domain_for",
    "full_domain",
    "is_private",
    "marginals",
    "mondrian",
    "read_domain",
    "read_hierarchies",
    "refuse_identifiers",
    "synthesize",
    "synthesize_linked",
    "table_domain",
    "top_down",
    "unread_of",
]
