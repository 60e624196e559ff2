"""The tables of the papers, our results beside theirs.

    python -m bench papers [--parts jmlr,arow,emnlp] [--out FOLDER] [--data FOLDER] [--seed N] [--json FILE]

Data: see `bench.datasets`.  All results come from `cwlearn.evaluation`: in every fold one randomised run on the
training rows chooses the parameter and the number of epochs (up to ten), which are then tested on the fold.  An
interrupted run continues from its journals, which are in the cache; `--fresh` starts again.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import sklearn

import cwlearn
from bench.paper_arow import arow
from bench.paper_emnlp import emnlp
from bench.paper_jmlr import jmlr
from bench.paper_runs import Comparisons
from bench.report import Report, suite_parser

PARTS = {"jmlr": jmlr, "arow": arow, "emnlp": emnlp}


def main(words: Sequence[str]) -> None:
    parser = suite_parser("papers", __doc__)
    parser.add_argument("--parts", type=lambda text: text.split(","), default=list(PARTS), help="default: all")
    parser.add_argument("--out", type=Path, default=Path("docs/results"), help="folder for papers.md and its pictures")
    parser.add_argument("--data", help="folder of the data sets (default: CWLEARN_DATA)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true", help="ignore the journals of an earlier run")
    options = parser.parse_args(words)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if options.data:
        os.environ["CWLEARN_DATA"] = options.data
    options.out.mkdir(parents=True, exist_ok=True)
    report = Report("papers", options)
    comparisons = Comparisons(options.seed, options.fresh)
    sections = [PARTS[name](comparisons, options.out) for name in options.parts]
    durations = "; ".join(str(part) for part in comparisons.durations if part.from_journal < part.trials)
    versions = {
        "cwlearn": cwlearn.__version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
    command = f"python -m bench papers --parts {','.join(options.parts)} --seed {options.seed}"
    head = f"# The papers' tables\n\n`{command}`; {', '.join(f'{name} {of}' for name, of in versions.items())}; "
    head += f"{os.cpu_count()} cores." + (f" It took: {durations}." if durations else "")
    notes = options.out / "papers-notes.md"
    remarks = [notes.read_text()] if notes.exists() else []
    page = "\n\n".join([head, *remarks, *sections])
    (options.out / "papers.md").write_text(page + "\n")
    report.say(page)
    report.add_json("sections", dict(zip(options.parts, sections, strict=True)))
    report.close()
