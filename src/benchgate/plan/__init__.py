"""Plans what will be measured: options, systems, workloads, cells, seats, and the preview for --plan."""
