"""Benchmarks: `python -m bench SUITE`.  `python -m bench SUITE --help` shows the flags of a suite.

Files that benchmarks make or download are in the folder CWLEARN_CACHE (default: ~/.cache/cwlearn-bench), which may be
deleted at any time.
"""

from __future__ import annotations

import argparse
import importlib
import sys

SUITES = {
    "gate": "the ratios that CI compares with the committed baseline (a minute)",
    "kernels": "nonzeros per second, against scikit-learn's SGD and against plain memory traffic",
    "parse": "reading text, against scikit-learn, XGBoost and counting lines",
    "text": "documents to a matrix of hashed n-grams, against scikit-learn's HashingVectorizer",
    "train": "from text to a model: 100 MB, 1 GB, ten times the rows, memory",
    "multiclass": "20 labels, against scikit-learn's SGD; time by the number of labels",
    "multilabel": "several labels a row, against scikit-learn's OneVsRestClassifier; Reuters with all topics",
    "full": "a full covariance, against the two BLAS calls that it needs",
    "import": "the start of a command, against importing NumPy",
    "latency": "one answer at a time, and the first one of a process, against scikit-learn's pipeline",
    "pipes": "the wait of single lines in a pipe, and lines in bulk against a file",
    "ftrl": "FTRL-Proximal against river: the same weights",
    "peers": "LIBLINEAR, Vowpal Wabbit, scikit-learn and river on the same files",
    "rivals": "the tuned error of each rule and of scikit-learn's linear classifiers, side by side (some minutes)",
    "papers": "the tables of the papers, our results beside theirs (half an hour)",
    "synthetic": "the synthetic experiments of the papers, with a plot",
    "distributed": "merged models against one model, and two workers against one",
    "documents": "from 1 GB of JSON lines to a model, against scikit-learn, Vowpal Wabbit and fastText",
    "text_quality": "the defaults for documents against scikit-learn's TfidfVectorizer and classifiers (half an hour)",
    "choosing": "AutoClassifier against the slow way to choose, and against tuned rivals (an hour)",
    "calibration": "probabilities against CalibratedClassifierCV and LogisticRegression (a quarter of an hour)",
    "drift": "streams that drift: what forgetting wins, and what it costs where nothing drifts (a minute)",
    "imbalance": "rare labels: what class weights and thresholds do to recall and F1 (a minute)",
    "query": "labelling curves: rows that a model asks for against random ones (a minute)",
    "noise": "the rule to begin with, its parameter and its epochs, where labels may be wrong (minutes)",
    "epochs": "epochs='auto' of each class against its usual number of epochs and against ten (minutes)",
    "defaults": "the defaults against the best setting of a grid, on real data",
}
MODULES = {"import": "startup"}  # where the name of a suite cannot be that of its module


def main() -> None:
    width = max(map(len, SUITES))
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"  {name:{width}s}  {text}" for name, text in SUITES.items()),
    )
    parser.add_argument("suite", choices=SUITES, metavar="SUITE", nargs="?")
    parser.add_argument("flags", nargs=argparse.REMAINDER, help="flags of the suite")
    arguments = parser.parse_args()
    if arguments.suite is None:
        parser.print_help(sys.stderr)
        sys.exit(2)
    module = MODULES.get(arguments.suite, arguments.suite)
    importlib.import_module(f"bench.{module}").main(arguments.flags)


if __name__ == "__main__":
    main()
