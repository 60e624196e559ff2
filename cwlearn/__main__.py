"""`python -m cwlearn` is `cwlearn`."""

import sys

from cwlearn.cli import main

sys.exit(main())
