"""Lines through pipes: how long a single line waits for its answer, and how fast lines in bulk are answered.

The file that lines come from in bulk is read directly as well; the same work is done then.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = [sys.executable, "-m", "cwlearn"]


def write_documents(path: Path, count: int, seed: int) -> None:
    """Documents of 30 words, with three labels."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(5000)]
    topics = {"eggs": words[2500:], "ham": words[:2000], "spam": words[1000:3500]}
    with path.open("w") as file:
        for number in range(count):
            label = rng.choice([*topics])
            text = " ".join(rng.choices(topics[label], k=30))
            file.write(json.dumps({"id": number, "text": text, "label": label}) + "\n")


def seconds_of_single_lines(words: list[str], lines: list[bytes]) -> list[float]:
    """The time between each line and its answer, once the first one has come."""
    waits = []
    command = [*COMMAND, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in lines:
            start = time.perf_counter()
            process.stdin.write(line)
            process.stdin.flush()
            process.stdout.readline()
            waits.append(time.perf_counter() - start)
            time.sleep(0.002)
        process.stdin.close()
    return sorted(waits[1:])


def seconds_in_bulk(words: list[str], data: Path, by_pipe: bool) -> tuple[float, float]:
    """Wall time and processor time of a command that answers all lines of a file."""
    before = os.times()
    start = time.perf_counter()
    command = [*COMMAND, *(word.replace("DATA", "-" if by_pipe else str(data)) for word in words)]
    feeder = subprocess.Popen(["cat", data], stdout=subprocess.PIPE) if by_pipe else None
    stdin = None if feeder is None else feeder.stdout
    subprocess.run(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - start
    after = os.times()
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def main(flags: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench pipes", description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000, help="lines for predict; learn gets a third of them")
    parser.add_argument("--lines", type=int, default=300, help="single lines")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(flags)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base, model, new, fewer = (folder / part for part in ("base.npz", "m.npz", "new.jsonl", "fewer.jsonl"))
        write_documents(folder / "train.jsonl", 20_000, 0)
        write_documents(new, options.rows, 1)
        write_documents(fewer, options.rows // 3, 2)
        subprocess.run([*COMMAND, "train", folder / "train.jsonl", "-m", base, "-a", "arow", "-q"], check=True)
        lines = new.read_bytes().splitlines(keepends=True)[: options.lines]
        for verb in ("predict", "learn"):
            shutil.copy(base, model)
            waits = seconds_of_single_lines([verb, "-", "-m", str(model)], lines)
            at = [1000 * waits[int(part * (len(waits) - 1))] for part in (0.5, 0.95, 1)]
            print(
                f"{verb} -, single lines: {at[0]:.2f} ms in the median, {at[1]:.2f} ms for 95 %, {at[2]:.2f} ms at most"
            )
        (folder / "one.jsonl").write_bytes(lines[0])
        for verb, data, journal in [("predict", new, False), ("learn", fewer, False), ("learn", fewer, True)]:
            best: dict[str, tuple[float, ...]] = {}
            for _ in range(options.rounds):
                for name in ("start", "file", "pipe"):
                    shutil.copy(base, model)
                    (folder / "j.jsonl").unlink(missing_ok=True)
                    words = [verb, "DATA", "-m", str(model)]
                    words += ["--journal", str(folder / "j.jsonl")] if journal else []
                    source = folder / "one.jsonl" if name == "start" else data
                    found = seconds_in_bulk(words, source, name == "pipe")
                    best[name] = tuple(map(min, zip(found, best.get(name, found), strict=True)))
            print(described(f"{verb} with a journal" if journal else verb, sum(1 for _ in data.open("rb")), best))


def described(what: str, count: int, best: dict[str, tuple[float, ...]]) -> str:
    """Lines a second, without the time that a single line takes: to start, and to write the model."""
    of_file, of_pipe = (
        [count / (now - start) for now, start in zip(best[name], best["start"], strict=True)]
        for name in ("file", "pipe")
    )
    return (
        f"{what}: {of_file[0]:,.0f} lines a second from a file, {of_pipe[0]:,.0f} from a pipe "
        f"({of_pipe[0] / of_file[0]:.2f}); a second of processor time: {of_file[1]:,.0f} and {of_pipe[1]:,.0f} lines"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
