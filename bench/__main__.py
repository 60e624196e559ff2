"""Benchmarks: `python -m bench SUITE`; `python -m bench SUITE --help` has the flags of a suite.

What they make or fetch is kept in the folder CWLEARN_CACHE (default: ~/.cache/cwlearn-bench), which may be removed.
"""

from __future__ import annotations

import argparse
import importlib
import sys

SUITES = {
    "gate": "the ratios that CI watches, against the committed ones (a minute)",
    "kernels": "nonzeros per second, against scikit-learn's SGD and against bare memory traffic",
    "parse": "reading text, against scikit-learn, XGBoost and counting lines",
    "train": "from text to a model: 100 MB, 1 GB, ten times the rows, memory",
    "multiclass": "20 labels, against scikit-learn's SGD; time by the number of labels",
    "full": "a full covariance, against the BLAS calls that it cannot do without",
    "import": "the start of a command, against importing NumPy",
    "peers": "LIBLINEAR, Vowpal Wabbit, scikit-learn and river on the same files",
    "papers": "the tables of the four papers, ours beside theirs (half an hour)",
    "synthetic": "the papers' synthetic experiments, with a plot",
    "distributed": "merged models against one, and two workers against one",
    "defaults": "the defaults against the best setting of a grid, on real data",
}


def main() -> None:
    width = max(map(len, SUITES))
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"  {name:{width}s}  {text}" for name, text in SUITES.items()),
    )
    parser.add_argument("suite", choices=SUITES, metavar="SUITE", nargs="?")
    parser.add_argument("flags", nargs=argparse.REMAINDER, help="of the suite")
    arguments = parser.parse_args()
    if arguments.suite is None:
        parser.print_help(sys.stderr)
        sys.exit(2)
    module = "startup" if arguments.suite == "import" else arguments.suite  # which is no name for a module
    importlib.import_module(f"bench.{module}").main(arguments.flags)


if __name__ == "__main__":
    main()
