"""
A spam filter from raw mails
============================

A :class:`~cwlearn.TextClassifier` takes texts as they are. It hashes words and pairs of words, and learns a weight
for each. Here it learns from 700 real mails that come with cwlearn, and is tested on 300 others.
"""

# %%
# The mails
# ---------
# They are JSON lines, compressed. The command line reads such a file by itself: ``cwlearn train
# mails-train.jsonl.xz -m m.npz``.

import json
import lzma
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

from cwlearn import AROWClassifier, HashingVectorizer, TextClassifier, displays


def read_mails(name):
    with lzma.open(str(files("cwlearn") / "demo" / name), "rt", encoding="utf-8") as lines:
        mails = [json.loads(line) for line in lines]
    return [mail["text"] for mail in mails], np.array([mail["label"] for mail in mails])


texts, labels = read_mails("mails-train.jsonl.xz")
test_texts, test_labels = read_mails("mails-test.jsonl.xz")

# %%
# Learn and test
# --------------
# ``TextClassifier()`` alone would let nine candidates race and take the best one. Here the rule is fixed: AROW,
# which has a deviation for every weight.

model = TextClassifier(AROWClassifier(epochs=5, fit_intercept=False, random_state=0)).fit(texts, labels)
wrong = model.predict(test_texts) != test_labels
print(f"{wrong.sum()} of {len(wrong)} test mails are wrong ({wrong.mean():.1%})")

# %%
# The heaviest words
# ------------------
# A hash cannot be turned back. So each word, and each pair of words, of the mails is hashed once more, alone, to
# find its column.

analyzer = HashingVectorizer(ngram_range=(1, 2)).build_analyzer()
terms = sorted({term for text in texts for term in analyzer(text)})
columns = HashingVectorizer(analyzer=lambda term: [term]).transform(terms).indices
names = np.full(2**20, "", object)
names[columns] = terms

figure, ax = plt.subplots(figsize=(7, 6), layout="constrained")
colours = {"color": "#0072B2", "error_kw": {"ecolor": "#555555", "capsize": 2}}
display = displays.WeightsDisplay.from_estimator(model.classifier_, top=24, feature_names=names, ax=ax, bar_kw=colours)
for bar, weight in zip(display.bars_, display.weights, strict=True):
    bar.set_color("#D55E00" if weight > 0 else "#0072B2")
ax.set_title("Words for spam (orange) and against it (blue)")
ax.spines[["top", "right", "left"]].set_visible(False)
plt.show()

# %%
# A bar is the mean of a weight, and its whisker one standard deviation. Rare words have long whiskers: a few mails
# say little.
#
# How certain is each prediction?
# -------------------------------

chance = model.predict_proba(test_texts)[:, list(model.classes_).index("spam")]
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
bins = np.linspace(0, 1, 21)
ax.hist([chance[test_labels == "ham"], chance[test_labels == "spam"]], bins, stacked=True, color=["#0072B2", "#D55E00"])
ax.axvline(0.5, color="#555555", linestyle=":", linewidth=1)
ax.text(0.09, 60, "ham", color="#0072B2", weight="bold")
ax.text(0.88, 40, "spam", color="#D55E00", weight="bold")
ax.set(xlabel="predicted chance of spam", ylabel="test mails", xlim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)
doubtful = (chance > 0.2) & (chance < 0.8)
print(f"{doubtful.sum()} mails have a chance between 0.2 and 0.8; {(doubtful & wrong).sum()} of these are wrong")
plt.show()

# %%
# Most mails are clear, and all of these are right. The mails that are wrong are among the few with a chance in the
# middle, where the model says that it does not know.
