"""Statistics: medians and their ratio, histograms, scaling laws."""
