"""Speed and accuracy beside peers and limits, measured side by side in one run: ``make bench``."""
