"""Documents in files: the same model, bit for bit, from every format, in every way of reading them."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone

import cwlearn as package
from cwlearn.cli.terminal import TerminalMonitor
from cwlearn.core import learner as learner_module
from cwlearn.core import model_file
from cwlearn.core.rows import as_rows
from cwlearn.errors import DataError
from cwlearn.text.row_store import DiskStore
from tests.text.document_cases import COMPRESSORS, WRITERS, classifier, documents, everything, jsonl, written
from tests.text_cases import SMALL, cwlearn, fail, outcome_of, set_chunk_bytes, succeed, trained

BITS = ["--hash-bits", 10]
AROW = ["-a", "arow", "--seed", 3]
ONE_PASS = [*AROW, "--epochs", 1]
TRAININGS = {
    "one pass": {"epochs": 1, "shuffle": False},
    "one shuffled epoch": {"epochs": 1, "shuffle": True},
    "several epochs": {"epochs": 3, "shuffle": True},
}
SETTINGS = {
    "defaults": {},
    "counts": {"weighting": "count", "idf": False},
    "binary": {"weighting": "binary", "idf": False, "norm": "l1", "ngram_range": (1, 1)},
    "raw": {"weighting": "count", "idf": False, "norm": None, "lowercase": False, "token_pattern": r"\S+"},
    "idf": {"weighting": "count", "norm": None, "strip_accents": "unicode", "stop_words": ["the", "not"]},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 4), "strip_accents": "ascii", "norm": "l1"},
    "any characters": {"analyzer": "char", "ngram_range": (1, 3), "weighting": "binary"},
}


@pytest.fixture(scope="module")
def corpus():
    return documents(60)


def learned(path, model=None, **options):
    return package.train(path, classifier() if model is None else model, **options)._learner


# -- the same model from every format ----------------------------------------------------------------------------------


@pytest.mark.parametrize("training", TRAININGS)
@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_gives_the_bits_of_fit(suffix, training, corpus, tmp_path, monkeypatch):
    model = classifier(**TRAININGS[training])
    expected = everything(clone(model).fit(*corpus)._learner)
    path = written(tmp_path / f"a.{suffix}", *corpus)
    for threads, chunk_bytes in itertools.product((1, 4), (16, 100, 1000, 1 << 21)):
        set_chunk_bytes(monkeypatch, chunk_bytes)
        assert everything(learned(path, clone(model), threads=threads)) == expected, (threads, chunk_bytes)
    for packed in COMPRESSORS:
        path = written(tmp_path / f"a.{suffix}{packed}", *corpus)
        set_chunk_bytes(monkeypatch, 500)
        assert everything(learned(path, clone(model))) == expected, packed


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_setting_gives_the_bits_of_fit(settings, corpus, tmp_path):
    path = written(tmp_path / "a.jsonl", *corpus)
    for training in TRAININGS.values():
        model = classifier(**training, **SETTINGS[settings])
        assert everything(learned(path, clone(model))) == everything(clone(model).fit(*corpus)._learner)


@pytest.mark.parametrize("settings", ["counts", "binary", "raw"])
def test_fit_gives_the_bits_of_a_vectorizer_and_a_classifier(settings, corpus):
    texts, labels = corpus
    options = dict(SETTINGS[settings])
    model = classifier(epochs=3, shuffle=True, **options).fit(texts, labels)
    binary, _ = options.pop("weighting") == "binary", options.pop("idf")
    options.setdefault("ngram_range", (1, 2))
    vectorizer = package.HashingVectorizer(n_features=1 << 10, alternate_sign=False, binary=binary, **options)
    X = vectorizer.transform(texts)
    apart = clone(model.classifier).fit(X, labels)
    assert everything(model._learner)[:-4] == everything(apart._learner)[:-4]
    assert (model.decision_function(texts) == apart.decision_function(X)).all()


def test_frequencies_and_weights_are_those_of_the_formula(corpus):
    """idf = 1 + ln((1 + n) / (1 + df)), of the rows so far in one pass, and of all rows in several."""
    texts, labels = corpus
    vectorizer = package.HashingVectorizer(
        n_features=1 << 10, alternate_sign=False, ngram_range=(1, 2), norm=None, dtype=np.float64
    )
    X = vectorizer.transform(texts)
    X.data = 1 + np.log(X.data)
    for one_pass in (True, False):
        present = (X.toarray() > 0).astype(int)
        so_far = np.cumsum(present, axis=0) if one_pass else np.tile(present.sum(axis=0), (len(texts), 1))
        n = np.arange(1, len(texts) + 1)[:, None] if one_pass else len(texts)
        weighed = X.toarray() * (1 + np.log((1 + n) / (1 + so_far)))
        weighed /= np.linalg.norm(weighed, axis=1, keepdims=True)
        epochs = 1 if one_pass else 2
        inner = package.AROWClassifier(epochs=epochs, shuffle=False, dtype="float64")
        model = package.TextClassifier(inner, hash_bits=10).fit(texts, labels)
        apart = clone(inner).fit(weighed, labels)
        np.testing.assert_allclose(model.classifier_.coef_, apart.coef_, rtol=1e-9, atol=1e-12)
        frequencies = model._learner.frequencies
        assert frequencies.n_documents == len(texts)
        assert frequencies.counts.tolist() == present.sum(axis=0).tolist()


@pytest.mark.parametrize("suffix", WRITERS)
def test_the_command_gives_the_bits_of_fit(suffix, corpus, tmp_path):
    path = written(tmp_path / f"a.{suffix}", *corpus)
    expected = everything(classifier().fit(*corpus)._learner)
    assert everything(trained(path, *ONE_PASS, *BITS)) == expected
    several = everything(classifier(epochs=3, shuffle=True).fit(*corpus)._learner)
    assert everything(trained(path, *AROW, "--epochs", 3, *BITS)) == several
    outcome = outcome_of("train", "-", "-m", tmp_path / "m.npz", *ONE_PASS, *BITS, input=path.read_bytes())
    assert outcome.status == 0, outcome.err
    if suffix != "txt":  # which only a suffix tells from svmlight with an error, if its lines are odd
        assert everything(model_file.load(tmp_path / "m.npz")) == expected


def test_the_defaults_of_the_command_are_those_of_the_class(corpus, tmp_path):
    path = written(tmp_path / "a.jsonl", *corpus)
    succeed("train", path, "-m", tmp_path / "m.npz", "--quiet")
    learner = model_file.load(tmp_path / "m.npz")
    fitted = package.TextClassifier(package.AutoClassifier(fit_intercept=False, random_state=0)).fit(*corpus)
    assert learner.documents == fitted._learner.documents
    assert package.train(path).get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    assert everything(learner) == everything(fitted._learner)


def test_settings_are_flags(corpus, tmp_path):
    path = written(tmp_path / "a.jsonl", *corpus)
    words = ["--ngrams", "2", "--weighting", "binary", "--no-idf", "--norm", "none", "--no-lowercase", *BITS]
    options = {"ngram_range": (2, 2), "weighting": "binary", "idf": False, "norm": None, "lowercase": False}
    expected = classifier(**options).fit(*corpus)
    assert everything(trained(path, *ONE_PASS, *words)) == everything(expected._learner)
    words = ["--analyzer", "char_wb", "--ngrams", "2,3", "--strip-accents", "ascii", "--stop-words", "the,not", *BITS]
    options = {"analyzer": "char_wb", "ngram_range": (2, 3), "strip_accents": "ascii", "stop_words": ["the", "not"]}
    assert everything(trained(path, *ONE_PASS, *words)) == everything(classifier(**options).fit(*corpus)._learner)


@pytest.mark.parametrize("threads", [1, 4])
def test_several_files_are_one_stream(threads, corpus, tmp_path):
    texts, labels = corpus
    for suffix in WRITERS:
        paths = []
        for number, start in enumerate(range(0, 60, 20)):
            which = slice(start, start + 20)
            name = f"{number}.{suffix}" + (".gz" if number == 1 else "")
            paths.append(written(tmp_path / name, texts[which], labels[which]))
        expected = everything(classifier().fit(texts, labels)._learner)
        assert everything(learned(paths, threads=threads)) == expected


def test_rows_that_do_not_fit_into_memory_give_the_same_bits(corpus, tmp_path, monkeypatch):
    used = []
    original = DiskStore.__init__
    monkeypatch.setattr(DiskStore, "__init__", lambda self, *words: used.append(self) or original(self, *words))
    path = written(tmp_path / "a.csv", *corpus)
    model = classifier(epochs=3, hash_bits=8)
    expected = everything(clone(model).fit(*corpus)._learner)
    set_chunk_bytes(monkeypatch, 300)
    for threads in (1, 4):
        assert everything(learned(path, clone(model), memory=SMALL, threads=threads)) == expected
    assert len(used) == 2
    shuffled = classifier(epochs=3, shuffle=True, hash_bits=8)
    first = everything(learned(path, clone(shuffled), memory=SMALL, threads=1))
    assert everything(learned(path, clone(shuffled), memory=SMALL, threads=4)) == first
    assert first[-1] == expected[-1]  # the frequencies are those of all rows


# -- fields ------------------------------------------------------------------------------------------------------------


def test_fields_have_any_name_and_may_be_nested(corpus, tmp_path):
    texts, labels = corpus
    lines = [
        json.dumps({"meta": {"class": label}, "title": text[:5], "body": text[5:], "text": 1, "label": 2})
        for text, label in zip(texts, labels, strict=True)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    joined = [f"{text[:5]}\n{text[5:]}" for text in texts]
    expected = everything(classifier().fit(joined, labels)._learner)
    assert everything(learned(path, text="title,body", label="meta.class")) == expected
    words = ["--text", "title,body", "--label", "meta.class"]
    assert everything(trained(path, *ONE_PASS, *BITS, *words)) == expected


def test_csv_without_a_header_has_numbers_for_fields(corpus, tmp_path):
    path = written(tmp_path / "a.csv", *corpus)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    expected = everything(classifier().fit(*corpus)._learner)
    assert everything(learned(path, header=False, label="2", text="3")) == expected
    path.write_text(path.read_text().replace(",", ";"))
    texts = [text.replace(",", ";") for text in corpus[0]]
    expected = everything(classifier().fit(texts, corpus[1])._learner)
    words = ["--no-header", "--label", 2, "--text", 3, "--delimiter", ";", "--format", "csv"]
    if all(";" not in text for text in texts):
        assert everything(trained(path, *ONE_PASS, *BITS, *words)) == expected


def test_line_ends_in_quotes_belong_to_a_text(tmp_path, monkeypatch):
    texts, labels = documents(40, seed=5)
    texts = [text.replace(" ", "\r\n" if number % 2 else "\n", 2) for number, text in enumerate(texts)]
    expected = everything(classifier().fit(texts, labels)._learner)
    for suffix, threads, size in itertools.product(("csv", "tsv", "jsonl"), (1, 4), (16, 60, 1 << 21)):
        set_chunk_bytes(monkeypatch, size)
        path = written(tmp_path / f"a.{suffix}", texts, labels)
        assert everything(learned(path, threads=threads)) == expected


def test_labels_are_any_text(tmp_path):
    names = ["+1", "1", "01", "yes, no", "häm", 'a "b"', "1e5"]
    texts, labels = documents(80, labels=names)
    expected = classifier().fit(texts, labels)._learner
    assert expected.classes.tolist() == sorted(names)
    for suffix in ("jsonl", "csv", "tsv", "txt"):
        path = written(tmp_path / f"a.{suffix}", texts, labels)
        assert everything(learned(path)) == everything(expected)
        assert learned(path, labels=names).classes.tolist() == sorted(names)
    with pytest.raises(DataError, match=r"a\.txt:1: label .* is not one of the labels a, b"):
        learned(path, labels=["b", "a"])


def test_a_label_that_comes_late_begins_the_pass_anew(tmp_path, monkeypatch):
    texts, labels = documents(60)
    labels = ["one"] * 20 + ["two"] * 39 + ["late"]
    expected = everything(classifier().fit(texts, labels)._learner)
    set_chunk_bytes(monkeypatch, 100)
    for suffix in ("jsonl.gz", "csv"):
        assert everything(learned(written(tmp_path / f"a.{suffix}", texts, labels))) == expected


# -- bad records -------------------------------------------------------------------------------------------------------

BAD = {
    "jsonl": ['{"text": "a', '{"text": "a"}', '{"label": "good"}', '{"text": "\\ud800", "label": "good"}', "[]"],
    "csv": ["1,good", "1,good,a,b", '1,good,"a" b', "1,,a"],
    "ft": ["no label", "__label__a __label__b c"],
    "txt": ["no tab", "\ttext"],
}


@pytest.mark.parametrize("suffix", BAD)
def test_bad_records_are_skipped_and_give_an_empty_line(suffix, corpus, tmp_path, monkeypatch):
    path = written(tmp_path / f"a.{suffix}", *corpus)
    lines = path.read_text().splitlines()
    expected = everything(classifier().fit(*corpus)._learner)
    for number, bad in enumerate(BAD[suffix]):
        lines.insert(7 * number + 3, bad)
    path.write_text("\n".join(lines) + "\n")
    for threads, size in itertools.product((1, 4), (16, 200, 1 << 21)):
        set_chunk_bytes(monkeypatch, size)
        with pytest.warns(UserWarning, match="line skipped") as warned:
            assert everything(learned(path, on_bad_line="skip", threads=threads)) == expected
        places = [str(warning.message).split(":")[1] for warning in warned]
        assert places == [str(7 * number + 4) for number in range(len(BAD[suffix]))]
    with pytest.raises(DataError, match=rf"a\.{suffix}:4:"):
        learned(path)
    count = len(BAD[suffix])
    with pytest.raises(DataError) as caught, pytest.warns(UserWarning, match="line skipped"):
        learned(path, on_bad_line="skip", max_bad=count - 1)
    assert caught.value.line == 7 * (count - 1) + 4


def test_a_skipped_record_gives_an_empty_line_in_predict(corpus, tmp_path):
    texts, labels = corpus
    model = classifier().fit(texts, labels)
    model.save(tmp_path / "m.npz")
    lines = jsonl(texts, labels).splitlines()
    lines[5] = '{"text": '
    lines.insert(9, "")  # a blank line is no record
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    outcome = succeed("predict", path, "-m", tmp_path / "m.npz", "--on-bad-line", "skip")
    expected = model.predict(texts).tolist()
    expected[5] = ""
    assert outcome.out.split("\n") == [*expected, ""]
    assert "a.jsonl:6:" in outcome.err


# -- pieces, copies and files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 60])
def test_partial_fit_in_pieces_is_one_pass(size, corpus, tmp_path):
    texts, labels = corpus
    model = classifier()
    for start in range(0, 60, size):
        model.partial_fit(texts[start : start + size], labels[start : start + size], classes=["bad", "good"])
    expected = everything(learned(written(tmp_path / "a.jsonl", texts, labels)))
    assert everything(model._learner) == expected


def test_a_model_is_the_same_after_save_load_pickle_and_clone(corpus, tmp_path):
    texts, labels = corpus
    for options in SETTINGS.values():
        model = classifier(**options).fit(texts, labels)
        model.save(tmp_path / "m.npz")
        for copy in (package.load(tmp_path / "m.npz"), pickle.loads(pickle.dumps(model))):
            assert isinstance(copy, package.TextClassifier)
            assert everything(copy._learner) == everything(model._learner)
            assert copy.predict_proba(texts).tobytes() == model.predict_proba(texts).tobytes()
            assert everything(clone(copy).fit(texts, labels)._learner) == everything(model._learner)


def test_predict_and_evaluate_take_raw_documents_without_a_flag(corpus, tmp_path):
    texts, labels = corpus
    model = classifier(analyzer="char_wb", ngram_range=(2, 3)).fit(texts, labels)
    model.save(tmp_path / "m.npz")
    others, truth = documents(50, seed=9)
    predicted = model.predict(others).tolist()
    error = float(np.mean(np.array(predicted) != truth))
    for suffix in WRITERS:
        path = written(tmp_path / f"b.{suffix}", others, truth)
        assert succeed("predict", path, "-m", tmp_path / "m.npz").out.split() == predicted
        report = succeed("evaluate", path, "-m", tmp_path / "m.npz", "--json").json
        assert report["rows"] == 50
        assert report["error"] == pytest.approx(error)
    lines = succeed("predict", path, "-m", tmp_path / "m.npz", "--proba").out.splitlines()
    assert lines[0] == "labels bad good"
    numbers = np.array([line.split()[1:] for line in lines[1:]], float)
    np.testing.assert_allclose(numbers, model.predict_proba(others), rtol=1e-8)


def test_predict_needs_no_labels(corpus, tmp_path):
    texts, labels = corpus
    model = classifier().fit(texts, labels)
    model.save(tmp_path / "m.npz")
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert (
        succeed("predict", tmp_path / "b.jsonl", "-m", tmp_path / "m.npz").out.split() == model.predict(texts).tolist()
    )
    (tmp_path / "b.txt").write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    words = ["predict", tmp_path / "b.txt", "-m", tmp_path / "m.npz", "--no-labels", "--format", "text"]
    assert succeed(*words).out.split() == model.predict(texts).tolist()
    message = fail("evaluate", tmp_path / "b.jsonl", "-m", tmp_path / "m.npz")
    assert "b.jsonl:1:1: expected a field 'label' in this line, found text" in message


def test_a_model_meets_only_what_it_has_learned(corpus, text, tmp_path):
    path = written(tmp_path / "a.jsonl", *corpus)
    classifier().fit(*corpus).save(tmp_path / "m.npz")
    package.AROWClassifier().fit(np.eye(2), [1, 2]).save(tmp_path / "n.npz")
    for verb in ("predict", "evaluate"):
        message = fail(verb, text, "-m", tmp_path / "m.npz")
        assert "data.svm: rows of numbers (svmlight), and the model was trained on documents" in message
        message = fail(verb, path, "-m", tmp_path / "n.npz")
        assert "a.jsonl: documents (jsonl), and the model was trained on rows of numbers" in message
    resume = ["train", path, "-m", tmp_path / "o.npz", "--resume"]
    assert "trained on rows of numbers" in fail(*resume, tmp_path / "n.npz")
    assert "--ngrams 1,2, not 1,1" in fail(*resume, tmp_path / "m.npz", "--ngrams", 1)
    assert "--idf yes, not no" in fail(*resume, tmp_path / "m.npz", "--no-idf")
    assert not (tmp_path / "o.npz").exists()


# -- resuming, merging, shards -----------------------------------------------------------------------------------------


def test_resuming_on_b_after_a_gives_the_bits_of_a_followed_by_b(corpus, tmp_path):
    texts, labels = corpus
    a = written(tmp_path / "a.jsonl", texts[:30], labels[:30])
    b = written(tmp_path / "b.csv", texts[30:], labels[30:])
    model = tmp_path / "m.npz"
    succeed("train", a, "-m", model, *ONE_PASS, *BITS)
    succeed("train", b, "-m", model, "--resume", model, "--epochs", 1)
    assert everything(model_file.load(model)) == everything(classifier().fit(texts, labels)._learner)
    warm = package.TextClassifier(
        package.AROWClassifier(epochs=1, shuffle=False, random_state=3, warm_start=True), hash_bits=10
    )
    for path in (a, b):
        package.train(path, warm)
    assert everything(warm._learner) == everything(model_file.load(model))


def interrupt(monkeypatch, stop):
    """Ctrl-C while some block of rows is being learned."""
    calls = itertools.count(1)
    original = TerminalMonitor.learned

    def learned(self, run, rows):
        if next(calls) == stop:
            os.kill(os.getpid(), signal.SIGINT)
        original(self, run, rows)

    monkeypatch.setattr(TerminalMonitor, "learned", learned)


MODES = {
    "one pass": ["--epochs", 1],
    "shuffled": ["--epochs", 3],
    "one shuffled epoch": ["--epochs", 1, "--shuffle"],
    "cache": ["--epochs", 3, "--memory", SMALL, "--hash-bits", 8],
    "without idf": ["--epochs", 1, "--no-idf"],
}


@pytest.mark.parametrize("mode", MODES)
def test_a_checkpoint_goes_on_to_the_bits_of_the_run_that_was_not_interrupted(mode, corpus, tmp_path, monkeypatch):
    """Wherever Ctrl-C comes."""
    path = written(tmp_path / "a.jsonl", *corpus)
    set_chunk_bytes(monkeypatch, 400)
    monkeypatch.setattr(learner_module, "BLOCK_EFFORT", 60)
    words = ["train", path, "-m", tmp_path / "m.npz", *AROW, *BITS, *MODES[mode], "--quiet", "--names", 0]
    succeed(*words)
    expected = everything(model_file.load(tmp_path / "m.npz"))
    for stop in (1, 2, 5, 8, 10):
        os.unlink(tmp_path / "m.npz")
        with monkeypatch.context() as patch:
            interrupt(patch, stop)
            outcome = cwlearn(*words, "--checkpoint", 60)
        assert outcome.status == 130, (stop, outcome)
        checkpoint = tmp_path / "m.npz.checkpoint"
        succeed("predict", path, "-m", checkpoint)
        succeed(*words, "--checkpoint", 60, "--resume", checkpoint)
        assert everything(model_file.load(tmp_path / "m.npz")) == expected
        assert not checkpoint.exists()


def test_a_checkpoint_of_other_documents_is_refused_or_forced(corpus, tmp_path, monkeypatch):
    texts, labels = corpus
    path = written(tmp_path / "a.jsonl", texts, labels)
    set_chunk_bytes(monkeypatch, 400)
    monkeypatch.setattr(learner_module, "BLOCK_EFFORT", 60)
    words = ["train", path, "-m", tmp_path / "m.npz", *AROW, *BITS, "--epochs", 2, "--quiet", "--checkpoint", 60]
    with monkeypatch.context() as patch:
        interrupt(patch, 3)
        assert cwlearn(*words).status == 130
    texts = [text.replace("word", "draw") for text in texts]
    checkpoint = model_file.load(tmp_path / "m.npz.checkpoint")
    written(path, texts, labels)
    resumed = [*words, "--resume", tmp_path / "m.npz.checkpoint"]
    assert "the checkpoint belongs to another run: data" in fail(*resumed)
    succeed(*resumed, "--force")
    forced = model_file.load(tmp_path / "m.npz")
    assert forced.frequencies.n_documents == checkpoint.frequencies.n_documents + 60


def test_models_of_documents_merge(corpus, tmp_path):
    texts, labels = corpus
    halves = [classifier().fit(texts[part], labels[part]) for part in (slice(30), slice(30, 60))]
    for number, half in enumerate(halves):
        half.save(tmp_path / f"{number}.npz")
    succeed("merge", tmp_path / "0.npz", tmp_path / "1.npz", "-m", tmp_path / "m.npz")
    merged = package.load(tmp_path / "m.npz")
    in_python = package.merge(halves)
    assert everything(in_python._learner) == everything(merged._learner)
    frequencies = classifier().fit(texts, labels)._learner.frequencies
    assert merged._learner.frequencies.n_documents == 60
    assert (merged._learner.frequencies.counts == frequencies.counts).all()
    assert merged.predict(["sign0", "sign1"]).tolist() == ["bad", "good"]
    classifier(ngram_range=(1, 1)).fit(texts, labels).save(tmp_path / "other.npz")
    package.AROWClassifier().fit(np.eye(1 << 10)[:60], labels).save(tmp_path / "numbers.npz")
    for other in ("other", "numbers"):
        assert "documents" in fail("merge", tmp_path / "0.npz", tmp_path / f"{other}.npz", "-m", tmp_path / "x.npz")


def test_the_documents_of_a_common_base_count_once_in_a_merge(corpus, tmp_path):
    texts, labels = corpus
    base = classifier().fit(texts[:20], labels[:20])
    base.save(tmp_path / "base.npz")
    for number, part in enumerate((slice(20, 40), slice(40, 60))):
        written(tmp_path / f"{number}.jsonl", texts[part], labels[part])
        go_on = ["--resume", tmp_path / "base.npz", "--epochs", 1, "-q"]
        succeed("train", tmp_path / f"{number}.jsonl", "-m", tmp_path / f"{number}.npz", *go_on)
    paths = [tmp_path / "0.npz", tmp_path / "1.npz"]
    succeed("merge", *paths, "-m", tmp_path / "m.npz", "--base", tmp_path / "base.npz")
    found = model_file.load(tmp_path / "m.npz").frequencies
    expected = classifier().fit(texts, labels)._learner.frequencies
    assert found.n_documents == expected.n_documents == 60
    assert (found.counts == expected.counts).all()
    succeed("merge", *paths, "-m", tmp_path / "m.npz")
    assert model_file.load(tmp_path / "m.npz").frequencies.n_documents == 80


@pytest.mark.parametrize("mode", [["--epochs", 1], ["--epochs", 2]], ids=str)
@pytest.mark.parametrize("suffix", WRITERS)
def test_shards_of_documents_are_merged(suffix, mode, corpus, tmp_path):
    texts, labels = corpus
    paths = [written(tmp_path / f"{number}.{suffix}", texts[number::3], labels[number::3]) for number in range(3)]
    whole = classifier().fit(texts, labels)
    learners = [trained(*paths, *AROW, *mode, *BITS, "--workers", workers) for workers in (1, 3)]
    assert everything(learners[0]) == everything(learners[1])
    assert learners[0].documents == whole._learner.documents
    assert learners[0].frequencies.n_documents == 60
    assert (learners[0].frequencies.counts == whole._learner.frequencies.counts).all()
    assert learners[0].label_names == ["bad", "good"]


def test_a_file_is_divided_among_workers(corpus, tmp_path):
    texts, labels = corpus
    whole = classifier().fit(texts, labels)._learner
    for suffix in ("jsonl", "ft", "txt", "csv"):
        path = written(tmp_path / f"a.{suffix}", texts, labels)
        learner = trained(path, *ONE_PASS, *BITS, "--workers", 3)
        assert learner.statistics["rows"] == 60
        assert (learner.frequencies.counts == whole.frequencies.counts).all()


# -- words behind columns ----------------------------------------------------------------------------------------------


def test_a_model_keeps_the_words_of_its_heaviest_columns(corpus, tmp_path):
    path, model = written(tmp_path / "a.jsonl", *corpus), tmp_path / "m.npz"
    succeed("train", path, "-m", model, *ONE_PASS, "--hash-bits", 18)
    facts = succeed("inspect", model, "--top", 4, "--json").json
    assert {"sign0", "sign1"} <= {weight["name"] for weight in facts["weights"]}
    for names, most in ((0, 0), (5, 5)):
        succeed("train", path, "-m", model, *ONE_PASS, "--hash-bits", 18, "--names", names)
        assert len(model_file.load(model).words) == most
    assert succeed("inspect", model, "--top", 1, "--names-from", path, "--json").json["weights"][0]["name"] in (
        "sign0",
        "sign1",
    )


def test_words_that_share_a_column_are_listed_with_the_most_frequent_first(tmp_path):
    texts, labels = documents(80, seed=2)
    path, model = written(tmp_path / "a.csv", texts, labels), tmp_path / "m.npz"
    succeed("train", path, "-m", model, *ONE_PASS, "--hash-bits", 3)
    learner = model_file.load(model)
    assert len(learner.words) == 8
    assert max(map(len, learner.words.values())) == 8
    hasher = package.HashingVectorizer(n_features=8, alternate_sign=False, ngram_range=(1, 2))
    for column, words in learner.words.items():
        for word in words:
            assert hasher.transform([word]).indices.tolist().count(column) == 1
    line = succeed("inspect", model, "--top", 1).out.splitlines()[-1]
    assert " | " in line


def test_words_are_not_looked_for_in_what_can_be_read_only_once(corpus, tmp_path):
    path = written(tmp_path / "a.jsonl", *corpus)
    outcome = outcome_of("train", "-", "-m", tmp_path / "m.npz", *ONE_PASS, *BITS, input=path.read_bytes())
    assert outcome.status == 0, outcome.err
    assert model_file.load(tmp_path / "m.npz").words == {}
    assert succeed("inspect", tmp_path / "m.npz", "--names-from", path, "--top", 3).out.count("sign") > 0


def test_rows_of_documents_are_sound(corpus):
    """Columns rise, and values are finite: what the kernels rely on."""
    model = classifier().fit(*corpus)
    rows = as_rows(model._scored(corpus[0]), np.float32)
    assert rows.n_rows == 60
    assert np.isfinite(rows.values).all()
