"""How long a command takes that has almost nothing to do: against importing NumPy, which it cannot do without.

The candidates take turns; each trains on ten lines of text, in its own process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from bench.processes import available, run
from bench.report import Report, suite_parser
from bench.targets import report_targets, target_row
from bench.text_files import Files
from bench.timing import time_in_turns
from bench.train import TRAINERS, seconds_of, train

CODES = (
    "pass",
    "import numpy",
    "import cwlearn",
    "import cwlearn.estimators.loading",
    "import sklearn.linear_model",
)


def main(words: Sequence[str]) -> None:
    options = suite_parser("import", __doc__, repeat=15).parse_args(words)
    report, files = Report("import", options), Files(0.01)
    runs = {f"`{code}`": lambda code=code: run(sys.executable, "-c", code).seconds for code in CODES}
    names = available(TRAINERS, lambda name: train(name, files, "ten"))
    runs |= {f"{name}, ten lines": partial(seconds_of, name, files, "ten") for name in names}
    times = time_in_turns(runs, options.repeat)
    numpy = times["`import numpy`"].best
    ratios = {name: f"{of.best / numpy:.2f} x" for name, of in times.items()}
    report.times("start-up", times, {"of `import numpy`": ratios})
    if ours := times.get("cwlearn, ten lines"):
        ratio = ours.best / numpy
        what = "training on ten lines against `import numpy`"
        report_targets(report, [target_row(what, "< 2 x", f"{ratio:.2f} x", ratio < 2)])
    report.close()
