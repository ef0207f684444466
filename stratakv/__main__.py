"""`python -m stratakv`."""

import sys

from stratakv.cli import main

sys.exit(main())
