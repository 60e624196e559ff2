"""scikit-learn on JSON lines: `train TEXT MODEL` in one pass, by batches; `predict MODEL TEST OUT`."""

import json
import pickle
import sys
from itertools import islice

from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

BATCH = 1000
vectorizer = HashingVectorizer(ngram_range=(1, 2))


def batches(path):
    with open(path) as file:
        while records := [json.loads(line) for line in islice(file, BATCH)]:
            yield vectorizer.transform([record["text"] for record in records]), [record["label"] for record in records]


command, *words = sys.argv[1:]
if command == "train":
    text, path = words
    model = SGDClassifier(random_state=0)
    for X, y in batches(text):
        model.partial_fit(X, y, classes=["negative", "positive"])
    with open(path, "wb") as file:
        pickle.dump(model, file)
else:
    path, test, out = words
    with open(path, "rb") as file:
        model = pickle.load(file)
    with open(out, "w") as file:
        for X, _ in batches(test):
            file.writelines(f"{label}\n" for label in model.predict(X))
