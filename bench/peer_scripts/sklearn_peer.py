"""scikit-learn: `train ALGORITHM TEXT MODEL PASSES`, `predict MODEL TEST OUT`, `memory ALGORITHM TEXT` for seconds."""

import pickle
import sys
import time
import warnings

from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier

warnings.simplefilter("ignore", ConvergenceWarning)
ALGORITHMS = {"sgd": {}, "pa": {"penalty": None, "learning_rate": "pa1", "eta0": 1.0}}


def read(path, n_features=None):
    X, y = load_svmlight_file(path, n_features=n_features, zero_based=True)
    X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")  # SGDClassifier refuses 64-bit indices
    return X, y


def new(algorithm, passes):
    return SGDClassifier(max_iter=passes, tol=None, random_state=0, **ALGORITHMS[algorithm])


command, *words = sys.argv[1:]
if command == "train":
    algorithm, text, model, passes = words
    with open(model, "wb") as file:
        pickle.dump(new(algorithm, int(passes)).fit(*read(text)), file)
elif command == "predict":
    path, test, out = words
    with open(path, "rb") as file:
        model = pickle.load(file)
    X, _ = load_svmlight_file(test, zero_based=True)  # the test file may have more columns than the model
    n = model.n_features_in_
    X = X[:, :n] if X.shape[1] > n else load_svmlight_file(test, n_features=n, zero_based=True)[0]
    with open(out, "w") as file:
        file.writelines(f"{label:+.0f}\n" for label in model.predict(X))
else:
    algorithm, text = words
    X, y = read(text)
    new(algorithm, 1).fit(X[:100], y[:100])  # everything that happens only once happens now
    start = time.perf_counter()
    new(algorithm, 1).fit(X, y)
    print(time.perf_counter() - start)
