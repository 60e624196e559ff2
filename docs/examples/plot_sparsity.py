"""
A small model: FTRL with L1
===========================

:class:`~cwlearn.FTRLClassifier` with ``l1`` leaves most weights at exactly 0 (McMahan et al., KDD 2013). A small
model loads fast and is easier to read. The question is what it costs.
"""

# %%
# Stronger and stronger L1
# ------------------------
# The rows are hashed words and pairs of words of the mails that come with cwlearn.

import json
import lzma
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

from cwlearn import FTRLClassifier, HashingVectorizer


def read_mails(name):
    with lzma.open(str(files("cwlearn") / "demo" / name), "rt", encoding="utf-8") as lines:
        mails = [json.loads(line) for line in lines]
    return [mail["text"] for mail in mails], np.array([mail["label"] for mail in mails])


texts, labels = read_mails("mails-train.jsonl.xz")
test_texts, test_labels = read_mails("mails-test.jsonl.xz")
vectorizer = HashingVectorizer(ngram_range=(1, 2), alternate_sign=False)
X, X_test = vectorizer.transform(texts), vectorizer.transform(test_texts)

strengths = [0.0, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0]
weights, errors = [], []
for l1 in strengths:
    model = FTRLClassifier(alpha=1.0, l1=l1, epochs=20, random_state=0).fit(X, labels)
    weights.append(np.count_nonzero(model.coef_))
    errors.append(100 - 100 * model.score(X_test, test_labels))
    print(f"l1={l1:<5} {weights[-1]:>6,} weights, {errors[-1]:.1f} % error")

# %%
# Weights against error
# ---------------------

figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
ax.plot(weights, errors, "o-", color="#0072B2", linewidth=2)
for l1, count, error in zip(strengths, weights, errors, strict=True):
    ax.annotate(f"l1={l1:g}", (count, error), (4, 8), textcoords="offset points")
ax.axhline(100 * np.mean(test_labels == "spam"), color="#888888", linestyle=":")
ax.text(weights[0], 100 * np.mean(test_labels == "spam") + 0.3, "always ham", color="#666666", ha="right")
ax.set(
    xscale="log", xlabel="weights that are not 0", ylabel="test error (%)", ylim=(0, 22), xlim=(None, 4 * weights[0])
)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# About a thousand of 53,000 weights do the same work as all of them. Even 59 weights are a fair model. The test has 300
# mails, so differences of one or two per cent are chance.
