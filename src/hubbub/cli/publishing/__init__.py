"""What ``hubbub publish`` is made of: it brings ``publish`` and ``attacks`` together.

- ``domain``    the public file that says what may stand in each column
- ``rows``      reading the table, and the public rows to compare with
- ``order``     what was asked for, checked before anything is charged
- ``paying``    whose budget it is, and whether all of it can be paid
- ``methods``   each way to publish: its privacy model, its mechanism, and the table that it makes
- ``yardstick`` the real rows that the tables are compared with
- ``attacked``  the attacks that match
- ``report``    all of it on one page
- ``files``     what is written where
"""
