"""Kill `cwlearn learn -` at random moments: nothing that was answered is lost, and nothing is learned twice.

    python -m tests.proof.kills --kills 200 --log docs/results/kills.md

Lines with numbers are sent in bursts, some without a label, and the process gets SIGKILL while it starts, takes up its
journal, learns, or writes its model.  Sometimes half a line is added to the journal, as a write that was cut leaves it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cwlearn.core import model_file
from cwlearn.text.feedback import Feedback
from cwlearn.text.reader import Reader
from tests.text_cases import command, succeed

WORDS = {"spam": ["free", "prize", "cash", "win", "now"], "ham": ["team", "lunch", "budget", "notes", "now"]}


@dataclass
class Trial:
    """A model under fire."""

    folder: Path
    random: random.Random
    sent: int = 0
    torn: int = 0
    answered: set[int] = field(default_factory=set)  # lines with a label that were answered
    early: int = 0  # kills before the first answer

    def __post_init__(self) -> None:
        self.base, self.model = self.folder / "base.npz", self.folder / "m.npz"
        self.journal = self.folder / "journal.jsonl"
        first = self.folder / "first.jsonl"
        first.write_bytes(b"".join(self.line(number) for number in range(-60, 0)))
        words = ["-a", "scw", "--epochs", 1, "--hash-bits", 12]
        succeed("train", first, "-m", self.base, "--labels", "ham,spam", *words)
        self.model.write_bytes(self.base.read_bytes())

    def line(self, number: int) -> bytes:
        label = self.random.choice(["spam", "ham"])
        text = " ".join(self.random.choices([*WORDS[label], f"w{self.random.randrange(500)}"], k=8))
        record: dict[str, Any] = {"id": number, "text": text}
        if number < 0 or self.random.random() < 0.8:
            record["label"] = label
        return json.dumps(record).encode() + b"\n"

    def serve(self, **kwargs: Any) -> subprocess.Popen[bytes]:
        words = ["--interval", 0.02, "--keep", "id", "--threads", 1]
        return command("learn", "-", "-m", self.model, "--journal", self.journal, *words, **kwargs)

    def feed(self, process: subprocess.Popen[bytes]) -> None:
        """Send lines in bursts until the process is gone."""
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            while True:
                lines = []
                for _ in range(self.random.choice([1, 1, 3, 40, 400])):
                    lines.append(self.line(self.sent))
                    self.sent += 1
                process.stdin.write(b"".join(lines))
                process.stdin.flush()
                time.sleep(self.random.random() * 0.01)
        with contextlib.suppress(OSError):
            process.stdin.close()  # what it still buffers has no reader

    def kill_once(self, early: bool) -> None:
        """Start, send lines, kill at a random moment, perhaps while it starts, and note what was answered."""
        with self.serve(stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            feeder = threading.Thread(target=self.feed, args=(process,))
            feeder.start()
            answers: list[bytes] = []
            reader = threading.Thread(target=lambda: answers.extend(iter(process.stdout.readline, b"")))  # type: ignore
            reader.start()
            if early:
                time.sleep(self.random.random() * 0.5)
            else:
                while not answers and process.poll() is None:
                    time.sleep(0.002)
                time.sleep(self.random.random() * 0.2)
            self.early += not answers
            assert process.poll() is None, "it ended by itself"
            process.send_signal(signal.SIGKILL)
            process.wait()
            feeder.join()
            reader.join()
        for answer in answers:
            if answer.endswith(b"\n"):
                record = json.loads(answer)
                if record["learned"]:
                    self.answered.add(record["id"])

    def tear(self) -> None:
        """Add a line that was cut."""
        with open(self.journal, "ab") as file:
            file.write(self.line(self.sent)[: self.random.randrange(1, 20)])
        self.torn += 1

    def recover(self) -> None:
        with self.serve(stdin=subprocess.DEVNULL) as process:
            _, err = process.communicate()
        assert process.returncode == 0, err

    def check(self) -> int:
        """Every answered line is in the journal, none is twice, and the model is that of the journal in one go."""
        self.recover()
        numbers = [json.loads(line)["id"] for line in self.journal.read_bytes().splitlines()]
        assert len(numbers) == len({*numbers}), "a line is twice in the journal"
        assert self.answered <= {*numbers}, "an answered line is missing"
        assert numbers == sorted(numbers)
        found, expected = model_file.load(self.model), model_file.load(self.base)
        feedback = Feedback(expected, 1 << 30)
        options = {"documents": expected.documents, "hash_bits": expected.hash_bits, "only_documents": True}
        for batch in Reader(self.journal, dtype=expected.state.dtype, optional_labels=True, **options):
            feedback.learn_all(batch)
        assert bits(found) == bits(expected), "the model is not that of its journal"
        return len(numbers)


def bits(learner: Any) -> list[bytes]:
    """All that a model has learned."""
    arrays = [array.tobytes() for array in learner.state.arrays().values()]
    counted = [] if learner.frequencies is None else [learner.frequencies.counts.tobytes()]
    return [*arrays, *counted, learner.counts.tobytes()]


def run(kills: int, seed: int, every: int = 10) -> dict[str, int]:
    """Kill so often; check after every `every` kills."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), random.Random(seed))
        lines = checks = 0
        for number in range(1, kills + 1):
            trial.kill_once(early=number % 6 == 0)
            if trial.random.random() < 0.3 and trial.journal.exists() and os.path.getsize(trial.journal):
                trial.tear()
            if number % every == 0 or number == kills:
                lines, checks = trial.check(), checks + 1
        return {
            "kills": kills, "of them before the first answer": trial.early, "lines sent": trial.sent,
            "labelled lines answered": len(trial.answered), "lines in the journal": lines,
            "torn lines added and dropped": trial.torn, "checks": checks, "answered lines lost": 0,
            "lines learned twice": 0, "models that differ from their journal": 0,
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", help="write the result to this file")
    arguments = parser.parse_args()
    report = run(arguments.kills, arguments.seed)
    text = "# Kills of `cwlearn learn`\n\n"
    text += f"`python -m tests.proof.kills --kills {arguments.kills} --seed {arguments.seed}`\n\n| | |\n|---|---:|\n"
    text += "".join(f"| {name} | {number:,} |\n" for name, number in report.items())
    print(text)
    if arguments.log:
        Path(arguments.log).write_text(text)


if __name__ == "__main__":
    main()
