"""`python -m examples.transcode`."""

import sys

from examples.transcode.cli import main

sys.exit(main())
