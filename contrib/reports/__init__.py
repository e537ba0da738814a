"""Reports for `--extra-report`, each a file that imports nothing but what `benchgate` exports."""
