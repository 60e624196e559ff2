"""scikit-learn: `train ALGORITHM TEXT MODEL PASSES`, `predict MODEL TEST OUT`, or seconds: `memory ALGORITHM TEXT`."""

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
    X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")  # SGDClassifier refuses those it gets
    return X, y


def new(algorithm, passes):
    return SGDClassifier(max_iter=passes, tol=None, random_state=0, **ALGORITHMS[algorithm])


what, *words = sys.argv[1:]
if what == "train":
    algorithm, text, model, passes = words
    with open(model, "wb") as file:
        pickle.dump(new(algorithm, int(passes)).fit(*read(text)), file)
elif what == "predict":
    model, test, out = words
    with open(model, "rb") as file:
        learned = pickle.load(file)
    X, _ = load_svmlight_file(test, zero_based=True)  # the test may have columns of its own
    n = learned.n_features_in_
    X = X[:, :n] if X.shape[1] > n else load_svmlight_file(test, n_features=n, zero_based=True)[0]
    with open(out, "w") as file:
        file.writelines(f"{label:+.0f}\n" for label in learned.predict(X))
else:
    algorithm, text = words
    X, y = read(text)
    new(algorithm, 1).fit(X[:100], y[:100])  # whatever is done only once is done
    start = time.perf_counter()
    new(algorithm, 1).fit(X, y)
    print(time.perf_counter() - start)
