"""One estimator per file, with scikit-learn's names. From outside use ``hubbub.learn``."""
