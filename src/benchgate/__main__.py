"""`python -m benchgate` is the command `benchgate`."""

import sys

from benchgate.cli import main

sys.exit(main())
