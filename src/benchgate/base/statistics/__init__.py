"""Statistics: medians and their ratio, groups of samples, histograms, scaling laws."""
