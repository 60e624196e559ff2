"""The package as a whole: what an import loads, and that documents, checks and code agree."""

from __future__ import annotations

import ast
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import cwlearn
from cwlearn import _kernels, evaluation
from cwlearn.core import _probabilities
from cwlearn.core.rules import RULES
from cwlearn.estimators.loading import CLASSIFIERS, KERNEL_CLASSIFIERS
from cwlearn.text import _hashing, _svmlight
from tests import cases

HEAVY = ["scipy", "sklearn", "dask", "matplotlib", "pandas", "tqdm"]


def loaded_after(code):
    script = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.split()}


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_after("import cwlearn") & {*HEAVY, "numpy"}


def test_training_and_saving_below_the_estimators_needs_numpy_only(tmp_path):
    code = f"""
import numpy as np
from cwlearn.core import model_file
from cwlearn.core import rules
from cwlearn.core.learner import Learner
from cwlearn.core.training import Training
from cwlearn.core.rows import as_rows
learner = Learner(rules.AROW(), Training(), np.array([0, 1]), 3)
learner.train(as_rows(np.eye(3), np.dtype("float32")), np.array([1.0, -1, 1]), np.empty(0), np.random.RandomState(0))
model_file.save(learner, {str(tmp_path / "m.npz")!r})
model_file.load({str(tmp_path / "m.npz")!r})
"""
    assert not loaded_after(code) & set(HEAVY)


def test_editors_find_every_name_where_it_is_loaded_from():
    tree = ast.parse(Path(cwlearn.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {name.name: node.module.removeprefix("cwlearn.") for node in block.body for name in node.names}
    assert homes == cwlearn._HOMES
    assert {*homes, "__version__"} == {*cwlearn.__all__}


def test_every_public_name_is_there():
    for name in cwlearn.__all__:
        assert getattr(cwlearn, name) is not None
    assert set(cwlearn.__all__) <= set(dir(cwlearn))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        cwlearn.nonsense  # noqa: B018
    classes = {name for name in cwlearn.__all__ if name.endswith("Classifier")}
    known = (*CLASSIFIERS.values(), *KERNEL_CLASSIFIERS.values())
    assert classes == {
        "AutoClassifier",
        "MultiLabelClassifier",
        "TextClassifier",
        *(classifier.__name__ for classifier in known),
    }
    assert {name for name in cwlearn.__all__ if name.endswith("Regressor")} == {"AROWRegressor"}
    assert set(RULES) == set(CLASSIFIERS)


def test_every_rule_has_tests_and_takes_part_in_comparisons():
    assert {rule.name for rule in cases.RULES} == set(RULES)
    assert set(RULES) <= set(evaluation.ALGORITHMS)


NAN, INFINITY = float("nan"), float("inf")
BAD_PARAMETERS = {  # classifier, parameter, values
    "H01-CW": ("CWClassifier", "confidence", [0, 0.49, 1, 1.5, NAN, "high", None, True]),
    "H01-SCW": ("SCWClassifier", "confidence", [0.4, 1.0]),
    "H02-AROW": ("AROWClassifier", "regularization", [0, -1, NAN, INFINITY, "large", True]),
    "H02-PA": ("PassiveAggressiveClassifier", "C", [0, -1, INFINITY, "none"]),
    "H02-NHERD": ("NHERDClassifier", "C", [None]),
    "H02-SOP": ("SOPClassifier", "a", [0, 10**400]),
    "H02-logistic": ("LogisticClassifier", "learning_rate", [-0.1]),
    "H03-variance": ("CWClassifier", "initial_variance", [0, -1, NAN, INFINITY, 1e39, 1e-39]),
    "H04-epochs": ("CWClassifier", "epochs", [0, -1, 1.5, True, "3", None]),
    "H06-seed": ("CWClassifier", "random_state", [-1, "seed"]),
    "form": ("CWClassifier", "form", ["sd"]),
    "projection of CW": ("CWClassifier", "projection", [None]),
    "projection of AROW": ("AROWClassifier", "projection", ["exact"]),
    "loss": ("SCWClassifier", "loss", ["log"]),
    "dtype": ("CWClassifier", "dtype", [np.float32]),
    "shuffle": ("CWClassifier", "shuffle", [1]),
    "verbose": ("CWClassifier", "verbose", [-1]),
    "class_weight": ("AROWClassifier", "class_weight", ["even", {0: -1.0}, {0: NAN}]),
}


@pytest.mark.parametrize("case", BAD_PARAMETERS)
def test_a_bad_parameter_is_named_with_its_value_when_fit_is_called(case):
    name, parameter, values = BAD_PARAMETERS[case]
    for value in values:
        model = getattr(cwlearn, name)(**{parameter: value})
        with pytest.raises(ValueError) as caught:
            model.fit(np.eye(3), [0, 1, 0])
        message = str(caught.value)
        if parameter != "random_state":  # scikit-learn's own words
            assert parameter in message
            assert repr(value) in message


def test_numpy_scalars_are_numbers_too(tmp_path):
    model = cwlearn.SOPClassifier(np.float32(3), initial_variance=np.float32(0.1)).fit(np.eye(3), [0, 1, 0])
    model.save(tmp_path / "m.npz")
    assert (cwlearn.load(tmp_path / "m.npz").coef_ == model.coef_).all()
    cwlearn.CWClassifier(np.float32(0.75), epochs=np.int32(2), shuffle=np.bool(True)).fit(np.eye(3), [0, 1, 0])


def test_h16_an_unknown_parameter_is_named():
    with pytest.raises(TypeError, match=r"CWClassifier.__init__\(\) got an unexpected keyword argument 'eta'"):
        cwlearn.CWClassifier(eta=0.9)
    with pytest.raises(TypeError):
        cwlearn.CWClassifier(0.9, "stdev", "kl", 1.0)


ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@each_page
def test_the_files_that_a_page_links_exist(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_the_readme_links_the_guide_the_guarantees_and_the_results():
    links = set(re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text()))
    guide = {str(page.relative_to(ROOT)) for page in (ROOT / "docs" / "guide").glob("*.md")}
    assert len(guide) >= 9
    assert {*guide, "docs/guarantees.md", "docs/odd_inputs.md", "docs/results", "CONTRIBUTING.md"} <= links


@each_page
def test_the_tests_that_a_page_names_exist(page):
    """`::test_...` alone is in the file that was named before it."""
    missing, source = [], ""
    for file, test in re.findall(r"`(?:(tests/[\w/]+\.py))?(?:::(test_\w+))?`", page.read_text()):
        path = ROOT / file
        if file:
            source = path.read_text() if path.exists() else ""
        if not path.exists() or (test and f"def {test}(" not in source):
            missing.append(f"{file}::{test}")
    assert missing == []


def test_every_guarantee_names_a_test():
    rows = re.findall(r"^\| (.*) \| (.*) \|$", (ROOT / "docs" / "guarantees.md").read_text(), re.MULTILINE)
    promises = {promise: kept_by for promise, kept_by in rows if promise != "promise"}
    assert len(promises) > 40
    assert [promise for promise, kept_by in promises.items() if "::test_" not in kept_by] == []


def test_readme_and_contributing_stay_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
    assert len((ROOT / "CONTRIBUTING.md").read_text().splitlines()) <= 120


COMPILED = [_kernels, _probabilities, _hashing, _svmlight]


def python(code, **environment):
    """What a program prints, and how it ends."""
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, env={**os.environ, **environment})


TRAIN = """
import hashlib, numpy as np
from scipy import sparse
from cwlearn.core import rules
from cwlearn import native
from cwlearn.core.naive_bayes import LabelCounts
from cwlearn.core.learner import Learner
from cwlearn.core.training import Training
from cwlearn.core.rows import as_rows
rng = np.random.default_rng(0)
X, y = sparse.csr_array(rng.standard_normal((300, 40)).astype("f4")), rng.choice([-1.0, 1.0], 300)
X.data[::7].view("u4")[:] = 1000  # subnormal; told by its bits, since NumPy's own conversions may flush it
learner = Learner(rules.CW(projection="exact"), Training(), np.array([0, 1]), 40)
rows = as_rows(X, np.dtype("float32"))
learner.learn(rows, y)
learner.state.cells[2].view("u4")[:] = 1000
found = learner.state.cells.tobytes() + learner.margins(rows)[0].tobytes() + rows.values.tobytes()
text = np.frombuffer(b" " * 64 + b"1 1:1e-310 2:4.9e-324" + bytes([10]) + b" " * 64, np.uint8)
values = np.empty(9)
native.parse_rows(
    np.zeros(20, np.int64), np.empty(9, np.int32), values, np.empty(20), np.empty(20, np.int64), np.empty(20),
    *np.empty((2, 20), np.int64), np.empty(0, np.int64), text, 64, 86, 0, True, 0, False, 0,
)
found += values[:2].tobytes()
counts = LabelCounts(40, 2)
counts.add(rows, (y > 0).astype(int), np.ones(300, bool))
found += counts._counts.tobytes() + counts._sums.tobytes() + counts._sizes.tobytes()
print(native.learn_rows.__module__, native.parse_rows.__module__, hashlib.sha256(found).hexdigest())
"""


def test_e11_a_processor_without_avx2_gets_other_loops_and_the_same_bits():
    without = "import sys\nsys.modules['cwlearn._kernels_v3'] = sys.modules['cwlearn.text._svmlight_v3'] = None\n"
    *_, expected = python(TRAIN).stdout.split()
    assert python(without + TRAIN).stdout.split() == ["cwlearn._kernels", "cwlearn.text._svmlight", expected]


FLUSH = "#include <xmmintrin.h>\nvoid flush(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }\n"


def test_e10_a_library_that_flushes_subnormal_numbers_to_zero_changes_nothing(tmp_path):
    """As one does that was linked with -ffast-math; and nothing of ours is."""
    (tmp_path / "flush.c").write_text(FLUSH)
    compiler = shutil.which("gcc") or shutil.which("cc")
    make = [compiler, "-shared", "-fPIC", str(tmp_path / "flush.c"), "-o", str(tmp_path / "flush.so")]
    if compiler is None or platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("needs a C compiler, and a processor that flushes")
    subprocess.run(make, check=True)
    still = "assert float('1e-310') / 2 == 0\n"
    flushing = f"import ctypes\nctypes.CDLL({str(tmp_path / 'flush.so')!r}).flush()\n{still}"
    assert python(flushing + TRAIN + still).stdout == python(TRAIN).stdout != ""
    assert "fast-math" not in (ROOT / "setup.py").read_text()


def test_e12_no_type_of_ours_is_as_wide_as_the_machine_likes():
    """A C `long` has 32 bits on Windows, where `_BitScanForward64` wants one."""
    sources = [
        path for path in Path(cwlearn.__file__).parent.rglob("*") if path.suffix in (".pyx", ".pxd", ".pxi", ".h")
    ]
    assert len(sources) > 5
    for path in sources:
        comments, exact = r'""".*?"""|/\*.*?\*/|#[^\n]*', r"\blong long\b|\bunsigned long n;"
        code = re.sub(f"{comments}|{exact}", "", path.read_text(), flags=re.DOTALL)
        assert not re.search(r"\blong\b", code), path
    for path in Path(cwlearn.__file__).parent.rglob("*.py"):
        assert not re.search(r"np\.(int_|intc|intp|uint|long|ulong)\b", path.read_text()), path


def test_e13_no_compiled_module_is_bound_to_the_abi_of_numpy():
    """They see arrays as buffers only, so that there is no wrong NumPy to import them with."""
    for module in COMPILED:
        code = Path(module.__file__).read_bytes()
        assert b"_ARRAY_API" not in code
        assert b"numpy.core.multiarray" not in code


def test_e13_a_numpy_that_cannot_be_imported_is_an_error_in_its_own_words(tmp_path):
    words = "numpy was compiled for another Python"
    (tmp_path / "numpy.py").write_text(f"raise ImportError({words!r})")
    result = python("from cwlearn import AROWClassifier", PYTHONPATH=str(tmp_path))
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == f"ImportError: {words}"
    result = python("from cwlearn.cli.main import main; main(['inspect', 'm.npz'])", PYTHONPATH=str(tmp_path))
    assert result.stderr == f"cwlearn: error: {words}\n"


def test_t04_the_compiled_modules_need_no_global_lock():
    script = (ROOT / "setup.py").read_text()
    assert re.search(r'"freethreading_compatible": True', script)
    imports = "import sys, cwlearn.native, cwlearn.core._probabilities"
    code = f"{imports}\nprint(getattr(sys, '_is_gil_enabled', lambda: True)())"
    assert python(code).stdout == f"{not sysconfig.get_config_var('Py_GIL_DISABLED')}\n"


def test_versions_agree():
    assert f"version: {cwlearn.__version__}" in (ROOT / "CITATION.cff").read_text()
