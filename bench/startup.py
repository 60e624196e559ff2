"""How long a command takes that has next to nothing to do: against importing NumPy, which ours does.

Candidates take turns; each trains on ten lines of text, in a process of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from bench.processes import present, run
from bench.promises import promise, report_promises
from bench.report import Report, parser
from bench.text_files import Files
from bench.timing import contest
from bench.train import TRAINERS, train

CODES = (
    "pass",
    "import numpy",
    "import cwlearn",
    "import cwlearn.estimators.loading",
    "import sklearn.linear_model",
)


def main(words: Sequence[str]) -> None:
    options = parser("import", __doc__, repeat=15).parse_args(words)
    report, files = Report("import", options.json), Files(0.01)
    runs = {f"`{code}`": lambda code=code: run(sys.executable, "-c", code).seconds for code in CODES}
    names = present(TRAINERS, lambda name: train(name, files, "ten"))
    runs |= {f"{name}, ten lines": partial(lambda name: train(name, files, "ten").seconds, name) for name in names}
    times = contest(runs, options.repeat)
    numpy = times["`import numpy`"].best
    report.contest("start-up", times, {"of `import numpy`": {n: f"{of.best / numpy:.2f} x" for n, of in times.items()}})
    if ours := times.get("cwlearn, ten lines"):
        ratio = ours.best / numpy
        what = "training on ten lines against `import numpy`"
        report_promises(report, [promise(what, "< 2 x", f"{ratio:.2f} x", ratio < 2)])
    report.close()
