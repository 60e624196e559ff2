"""Which lines the tests run: branches of Python, or lines of Cython in a copy of the project that is compiled to tell.

    python -m tests.proof.covered --python [PYTEST ARGUMENTS]   branches of Python, in every process that tests start
    python -m tests.proof.covered [PYTEST ARGUMENTS]            lines of Cython, and of Python

The first runs on the modules as they are compiled, in about twice the time of the tests; `-n 2` divides them.
Processes that tests start are measured as well, so that tests of what a process writes or may write fail; the report
comes all the same.

The second takes a copy; `--build FOLDER` keeps it there, and takes it as it is the next time.  Lines of `.pyx`, `.pxd`
and `.pxi` count, inlined or not, with the GIL or without, and the forms of a module for several processors are one.
Not seen are the C headers; which side of a conditional expression was taken; what runs in other processes.  Code that
tells of each line is some hundred times slower, so that tests which measure time may fail.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.proof.special_builds import ROOT, build

# Without the plugin for Cython, whose tracer is slow; and in every process.
PYTHON = """
[run]
branch = true
parallel = true
patch = subprocess, _exit
source = cwlearn
data_file = {folder}/data
[report]
exclude_also =
    if TYPE_CHECKING:
    @overload
"""


def _files(folder: Path) -> list[str]:
    """The modules first: they lead the plugin to their C code, without which it knows of no .pxd."""
    modules = [path for path in folder.glob("cwlearn/**/*.pyx") if not path.stem.endswith("_v3")]
    others = [path for pattern in ("*.pxd", "*.pxi", "*.py") for path in sorted(folder.glob(f"cwlearn/**/{pattern}"))]
    return [str(path.relative_to(folder)) for path in [*sorted(modules), *others]]


def covered_python(words: list[str]) -> int:
    """Run the tests here, and report the branches of Python that were not taken."""
    with tempfile.TemporaryDirectory() as name:
        settings = Path(name, "settings")
        settings.write_text(PYTHON.format(folder=name))
        tests = ["run", f"--rcfile={settings}", "-m", "pytest", "-p", "no:cacheprovider", *words]
        status = subprocess.run([sys.executable, "-m", "coverage", *tests], cwd=ROOT).returncode
        for words in (["combine", "-q"], ["report", "--show-missing", "--skip-covered"]):
            subprocess.run([sys.executable, "-m", "coverage", *words, f"--rcfile={settings}"], cwd=ROOT)
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="store_true")
    parser.add_argument("--build", type=Path, metavar="FOLDER")
    arguments, words = parser.parse_known_args()
    if arguments.python:
        return covered_python(words)
    with build(arguments.build, {"CWLEARN_TRACED": "1"}) as folder:
        environment = {**os.environ, "PYTHONPATH": str(folder)}

        def coverage(*words: str) -> int:
            return subprocess.run([sys.executable, "-m", "coverage", *words], cwd=folder, env=environment).returncode

        status = coverage("run", "-m", "pytest", "-p", "no:cacheprovider", "--timeout", "600", *words)
        coverage("report", "--show-missing", *_files(folder))
    return status


if __name__ == "__main__":
    sys.exit(main())
