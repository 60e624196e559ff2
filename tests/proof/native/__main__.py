"""Run a door under libFuzzer, without Python for an input.

    python -m tests.proof.native svmlight|json|csv|lines|vw|documents|rows [--runs N] [--sanitized] [--log FILE]

Each input goes through the compiled loop and through a slow twin in plain C (the `.pyx` file of the door); what one
accepts, the other accepts, with the same rows.  An input for which that is not so ends the run, and is kept.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.proof.native.build import DOORS, VECTORS, clang, compile_door, library
from tests.proof.sanitized import ASAN, QUICK, UBSAN

RUN = "import sys, {}_door as door; door.fuzz(sys.argv)"
CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"
NOT_OURS = "pointer-overflow:*__cinit__*\n"  # Cython makes an object without arguments by adding 0 to NULL
TOLD = re.compile(r"#\d+\t(INITED|DONE)|stat::number|==|SUMMARY|differs|Traceback|\w*Error|ERROR")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.native", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("door", choices=DOORS)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=0, help="end after so many of the clock")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sanitized", action="store_true", help="with ASan and UBSan, and guided by comparisons, too")
    parser.add_argument("--vectors", choices=VECTORS, default="wide", help="what the processor may be asked for")
    parser.add_argument("--corpus", type=Path, help="folder for what it finds (default: a new one)")
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="keep the build there, and take it the next time")
    parser.add_argument("--log", type=Path, metavar="FILE", help="add a summary to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = (arguments.build or Path(name)).resolve()
        compiler, door = clang(), arguments.door
        if not list(folder.glob(f"{door}_door*.so")):
            compile_door(door, folder, arguments.vectors, arguments.sanitized, compiler)
        found = arguments.corpus or Path(tempfile.mkdtemp())
        found.mkdir(parents=True, exist_ok=True)
        print(f"what is found is kept in {found}", flush=True)
        flags = [
            *(f"-runs={arguments.runs}", f"-max_total_time={arguments.seconds}", f"-seed={arguments.seed}"),
            *("-max_len=200", "-use_counters=0", "-keep_seed=1"),
            *("-detect_leaks=0", "-timeout=60", "-print_final_stats=1", f"-artifact_prefix={found}/"),
            "-entropic=0",  # to choose inputs by the rarity of their branches takes half of the time
        ]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        if arguments.sanitized:
            left_out = Path(name, "suppressions")
            left_out.write_text(NOT_OURS)
            environment |= {"LD_PRELOAD": library(compiler, "asan.so"), "ASAN_OPTIONS": f"{ASAN}:{QUICK}"}
            environment["UBSAN_OPTIONS"] = f"{UBSAN}:suppressions={left_out}"
            environment["PYTHONMALLOC"] = "malloc"
        words = [sys.executable, "-c", RUN.format(door), *flags, str(found), str(CORPUS / DOORS[door])]
        return _told(words, environment, arguments.log)


def _told(words: list[str], environment: dict[str, str], log: Path | None) -> int:
    """Run a command and show what it says; what matters of that goes to the log."""
    lines = [f"== python -m tests.proof.native {' '.join(_short(sys.argv[1:]))}\n"]
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if TOLD.match(line):
                lines.append(line)
                print(line, end="", flush=True)
    lines.append(f"exit status {process.returncode}\n\n")
    if log:
        with log.open("a") as file:
            file.writelines(lines)
    return process.returncode


def _short(words: list[str]) -> list[str]:
    """The command without the folders of this machine."""
    folders = {"--corpus", "--build", "--log"}
    return [word for before, word in zip(["", *words], words, strict=False) if not {before, word} & folders]


if __name__ == "__main__":
    sys.exit(main())
