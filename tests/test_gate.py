"""The speed gate of CI: a slower loop fails it and is named; noise does not."""

from __future__ import annotations

import importlib.util
import json

import pytest

from bench import gate
from cwlearn.core.states import diagonal as diagonal_state

AROW = next(name for name in gate.RATIOS if name.startswith("AROW"))


def measured(*ratios):
    remaining = iter(ratios)
    return lambda: next(remaining)


def test_a_ratio_near_its_baseline_passes_at_once():
    assert gate.judge("loop", measured(0.71), baseline=1.0).passed


def test_noise_is_measured_again_and_passes():
    verdict = gate.judge("loop", measured(0.5, 0.2, 0.69, 0.9), baseline=1.0)
    assert verdict.passed
    assert len(verdict.ratios) == 4


def test_a_ratio_that_stays_low_fails_after_all_repeats_and_is_named():
    verdict = gate.judge("loop", measured(0.5, 0.6, 0.69, 0.6, 0.55, 0.5), baseline=1.0)
    assert not verdict.passed
    assert str(verdict) == "loop: measured 0.5, 0.6, 0.69, 0.6, 0.55, 0.5, at best 69% of the baseline 1"


def test_a_kernel_that_is_slowed_on_purpose_fails(monkeypatch):
    """With a baseline of this machine and this build, which may have bounds checks."""
    baseline = {AROW: gate.ratio(gate.RATIOS[AROW](), 10)}
    learn_rows = diagonal_state.learn_rows

    def slowed(cells, *others):
        for _ in range(2):
            learn_rows(cells.copy(), *others)
        return learn_rows(cells, *others)

    monkeypatch.setattr(diagonal_state, "learn_rows", slowed)
    (verdict,) = gate.judge_all(baseline, [AROW], repeat=10)
    assert not verdict.passed
    assert AROW in str(verdict)


@pytest.fixture
def committed(monkeypatch, tmp_path):
    """A function that writes a baseline, of this kind of machine or of another one."""
    monkeypatch.setattr(gate, "BASELINE", tmp_path / "baseline.json")
    monkeypatch.setattr(gate, "_measure", lambda name, repeat: lambda: 0.5 if name == AROW else 1.0)

    def write(ratios, **other):
        baseline = [{"kind": {**gate.kind_of_machine(), **other}, "ratios": ratios}]
        (tmp_path / "baseline.json").write_text(json.dumps(baseline))

    return write


def test_the_command_names_what_failed(committed):
    committed(dict.fromkeys(gate.RATIOS, 1.0))
    with pytest.raises(SystemExit, match=f"slower than the baseline:\n{AROW}: measured 0.5, 0.5, 0.5, 0.5"):
        gate.main([])


def test_the_baseline_of_another_kind_of_machine_fails_nothing(committed, capsys):
    committed(dict.fromkeys(gate.RATIOS, 1.0), machine="abacus")
    gate.main([])
    assert f"so these are no failures:\n\n{AROW}: measured 0.5" in capsys.readouterr().out


def test_a_baseline_with_other_ratios_is_refused(committed):
    committed({})
    with pytest.raises(SystemExit, match="has other ratios than the gate"):
        gate.main([])


def test_the_first_baseline_whose_facts_all_fit_counts():
    ours, any_processor = {"kind": {"machine": "x", "processor": "p"}}, {"kind": {"machine": "x"}}
    both = [ours, any_processor]
    assert gate.baseline_of({"machine": "x", "processor": "p"}, both) == (ours, True)
    assert gate.baseline_of({"machine": "x", "processor": "q"}, both) == (any_processor, True)
    assert gate.baseline_of({"machine": "y", "processor": "p"}, both) == (any_processor, False)


def test_the_committed_baselines_name_compiled_modules_of_the_package():
    """Otherwise every machine would be of another kind, and the gate would never fail."""
    for baseline in json.loads(gate.BASELINE.read_text()):
        assert importlib.util.find_spec(f"cwlearn.text.{baseline['kind']['loops']}") is not None
