"""river: `train ALGORITHM TEXT MODEL PASSES`, `predict MODEL TEST OUT`, `memory ALGORITHM TEXT` for seconds."""

import pickle
import sys
import time

from river import linear_model

ALGORITHMS = {"logistic": linear_model.LogisticRegression, "pa": lambda: linear_model.PAClassifier(C=1.0, mode=1)}


def rows(path):
    """The rows of a file; river's own iter_libsvm cannot read a row without features."""
    with open(path) as file:
        for line in file:
            label, *pairs = line.split()
            yield {name: float(value) for name, value in (pair.split(":") for pair in pairs)}, int(label)


def learn(model, examples):
    for x, y in examples:
        model.learn_one(x, y > 0)


command, *words = sys.argv[1:]
if command == "train":
    algorithm, text, path, passes = words
    model = ALGORITHMS[algorithm]()
    for _ in range(int(passes)):
        learn(model, rows(text))
    with open(path, "wb") as file:
        pickle.dump(model, file)
elif command == "predict":
    path, test, out = words
    with open(path, "rb") as file:
        model = pickle.load(file)
    with open(out, "w") as file:
        file.writelines("+1\n" if model.predict_one(x) else "-1\n" for x, _ in rows(test))
else:
    algorithm, text = words
    examples = [*rows(text)]
    start = time.perf_counter()
    learn(ALGORITHMS[algorithm](), examples)
    print(time.perf_counter() - start)
