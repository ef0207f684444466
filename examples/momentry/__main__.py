"""`python -m examples.momentry`."""

import sys

from examples.momentry.cli import main

sys.exit(main())
