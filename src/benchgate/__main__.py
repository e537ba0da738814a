"""`python -m benchgate` is the command `benchgate`.

Takes argv and ends with the status of `benchgate.cli.main`, which says how it fails.
"""

import sys

from benchgate.cli import main

sys.exit(main())
