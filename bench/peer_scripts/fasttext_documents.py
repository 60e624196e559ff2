"""fastText: `train THREADS TEXT MODEL` in one pass with bigrams; `predict MODEL TEST OUT`."""

import sys

import fasttext

command, *words = sys.argv[1:]
if command == "train":
    threads, text, path = words
    model = fasttext.train_supervised(text, epoch=1, wordNgrams=2, dim=10, thread=int(threads), verbose=0)
    model.save_model(path)
else:
    path, test, out = words
    model = fasttext.load_model(path)
    with open(test) as file:
        labels, _ = model.predict([line.split(" ", 1)[1].rstrip("\n") for line in file])
    with open(out, "w") as file:
        file.writelines(f"{label}\n" for (label,) in labels)
