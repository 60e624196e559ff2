"""Which lines the tests run, of Python and of Cython, in a copy of the project that is compiled to tell.

    python -m tests.proof.covered [PYTEST ARGUMENTS]

`--build FOLDER` before these keeps the copy there, and takes it as it is the next time.

Lines of `.pyx`, `.pxd` and `.pxi` count, inlined or not, with the GIL or without, and the forms of a module for several
processors are one.  Not seen are the C headers; which side of a conditional expression was taken; what runs in other
processes that tests start, since these are timed, interrupted and killed.  Code that tells of each line is some hundred
times slower, so that tests which measure time may fail; the report comes all the same.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests.proof.special_builds import build


def _files(folder: Path) -> list[str]:
    """The modules first: they lead the plugin to their C code, without which it knows of no .pxd."""
    modules = [path for path in folder.glob("cwlearn/**/*.pyx") if not path.stem.endswith("_v3")]
    others = [path for pattern in ("*.pxd", "*.pxi", "*.py") for path in sorted(folder.glob(f"cwlearn/**/{pattern}"))]
    return [str(path.relative_to(folder)) for path in [*sorted(modules), *others]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, metavar="FOLDER")
    arguments, words = parser.parse_known_args()
    with build(arguments.build, {"CWLEARN_TRACED": "1"}) as folder:
        environment = {**os.environ, "PYTHONPATH": str(folder)}

        def coverage(*words: str) -> int:
            return subprocess.run([sys.executable, "-m", "coverage", *words], cwd=folder, env=environment).returncode

        status = coverage("run", "-m", "pytest", "-p", "no:cacheprovider", "--timeout", "600", *words)
        coverage("report", "--show-missing", *_files(folder))
    return status


if __name__ == "__main__":
    sys.exit(main())
