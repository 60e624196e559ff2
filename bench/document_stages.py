"""cwlearn on JSON lines: the CPU seconds of one pass on one thread, as JSON, with one stage after the other added."""

import json
import sys
import time

import numpy as np

from cwlearn.core.frequencies import Frequencies
from cwlearn.core.learner import Learner
from cwlearn.core.rules import SCW
from cwlearn.core.text_options import DEFAULT_BITS, TextOptions
from cwlearn.core.training import Training
from cwlearn.text.labels import Labels
from cwlearn.text.reader import Reader


def reader(path):
    return Reader(path, threads=1, documents=TextOptions(), hash_bits=DEFAULT_BITS)


def read(path):
    for _ in reader(path).chunks():
        pass


def split(path):
    for parser, chunk, buffers in reader(path).chunks():
        parser._split(chunk, buffers, 0)


def hashed(path):
    for parser, chunk, buffers in reader(path).chunks():
        yield parser.parse(chunk, buffers, 0)


def weighed(path):
    frequencies = Frequencies(1 << DEFAULT_BITS, TextOptions().norm)
    for batch in hashed(path):
        yield batch, frequencies.count_and_weigh(batch.rows)


def learn(path):
    labels, learner = Labels(), None
    for batch, rows in weighed(path):
        labels.add(batch)
        if learner is None:
            learner = Learner(SCW(), Training(epochs=1, fit_intercept=False), labels.values, rows.n_features)
        targets, weights = labels.encode(batch.labels, learner)
        learner.learn(rows, targets, weights)


def exhausted(batches):
    return lambda path: [None for _ in batches(path)]


STAGES = {
    "reading": read,
    "splitting": split,
    "hashing": exhausted(hashed),
    "weighing": exhausted(weighed),
    "learning": learn,
}
path, repeat = sys.argv[1:]
seconds = {name: [] for name in STAGES}
for _ in range(int(repeat)):
    for name, stage in STAGES.items():
        start = time.process_time()
        stage(path)
        seconds[name].append(time.process_time() - start)
best = [0, *(min(values) for values in seconds.values())]
print(json.dumps(dict(zip(STAGES, np.diff(best).tolist(), strict=True))))
