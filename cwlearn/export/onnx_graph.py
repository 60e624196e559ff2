"""The linear part of a model as an ONNX graph: rows of numbers to labels and probabilities."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cwlearn._version import __version__
from cwlearn.errors import DataError
from cwlearn.export.scorer import DEVIATION, LENGTH, NOTHING, Scorer

OPSET, IR_VERSION = 13, 8  # which all runtimes of the last years read
LARGEST_BYTES = 1 << 30  # of the weights, which are dense here; protocol buffers end at 2 GB
LEAST_SQUARE = 1e-30  # of float32


def onnx_bytes(scorer: Scorer) -> bytes:
    """The graph, serialised: `rows` (float32, n x features) to `label` (int64) and `probabilities`, or `prediction`."""
    try:
        from onnx import TensorProto, checker, helper, numpy_helper  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise DataError("to write ONNX, the package onnx is needed: pip install onnx") from None
    size = 4 * scorer.n_features * (scorer.blocks + (scorer.divisor == DEVIATION))
    if size > LARGEST_BYTES:
        raise DataError(f"ONNX has dense weights, which need {size:,} bytes here, more than {LARGEST_BYTES:,}")
    graph = _Graph(helper, numpy_helper)
    outputs = _add_scores(graph, scorer)
    rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, scorer.n_features])
    kinds = {"label": (TensorProto.INT64, [None]), "prediction": (TensorProto.FLOAT, [None, 1])}
    kinds["probabilities"] = (TensorProto.FLOAT, [None, len(scorer.labels)])
    infos = [helper.make_tensor_value_info(name, *kinds[name]) for name in outputs]
    made = helper.make_graph(graph.nodes, "cwlearn", [rows], infos, graph.constants)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(made, producer_name="cwlearn", producer_version=__version__, opset_imports=opsets)
    model.ir_version = IR_VERSION
    helper.set_model_props(model, {"labels": json.dumps(scorer.labels)})
    checker.check_model(model)
    return bytes(model.SerializeToString())


class _Graph:
    """Nodes and constants; each node is named by its result."""

    def __init__(self, helper: Any, numpy_helper: Any) -> None:
        self._helper, self._numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        self.constants.append(self._numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(self._helper.make_node(kind, inputs, [name], **attributes))
        return name


def _dense(scorer: Scorer, weights: Any, blocks: int, others: float = 0.0) -> Any:
    matrix = np.full((scorer.n_features, blocks), others, np.float32)
    matrix[scorer.columns] = np.asarray(weights).reshape(-1, blocks)
    return matrix


def _add_scores(graph: _Graph, scorer: Scorer) -> list[str]:
    weights = graph.constant("weights", _dense(scorer, scorer.means, scorer.blocks))
    intercept = graph.constant("intercept", scorer.intercept * scorer.bias)
    last = "prediction" if scorer.task == "regression" else "score"
    score = graph.node("Add", [graph.node("MatMul", ["rows", weights], "product"), intercept], last)
    if scorer.task == "regression":
        return ["prediction"]
    odds = graph.node("Mul", [_divided(graph, scorer, score), graph.constant("slope", scorer.slope)], "scaled")
    if scorer.several:
        _add_noise(graph, scorer, graph.node("Softmax", [odds], "chances", axis=1))
        graph.node("ArgMax", [score], "label", axis=1, keepdims=0)
        return ["label", "probabilities"]
    odds = graph.node("Add", [odds, graph.constant("shift", scorer.shift)], "odds")
    second, first = graph.node("Sigmoid", [odds], "second"), graph.node("Neg", [odds], "negative")
    first = graph.node("Sigmoid", [first], "first")
    _add_noise(graph, scorer, graph.node("Concat", [first, second], "chances", axis=1))
    positive = graph.node("Greater", [odds, graph.constant("cut", scorer.cut)], "positive")
    axes = graph.constant("axes", [1], np.int64)
    graph.node("Squeeze", [graph.node("Cast", [positive], "number", to=7), axes], "label")  # 7: int64
    return ["label", "probabilities"]


def _add_noise(graph: _Graph, scorer: Scorer, chances: str) -> None:
    """The probabilities, of labels some of which are random."""
    certain = graph.node("Mul", [chances, graph.constant("certain", 1 - scorer.noise)], "certain_chances")
    graph.node("Add", [certain, graph.constant("random", scorer.noise / len(scorer.labels))], "probabilities")


def _divided(graph: _Graph, scorer: Scorer, score: str) -> str:
    """The score over what it is divided by."""
    if scorer.divisor == NOTHING:
        return score
    squares = graph.node("Mul", ["rows", "rows"], "squares")
    if scorer.divisor == LENGTH:
        axes = graph.constant("sum_axes", [1], np.int64)
        total, own = graph.node("ReduceSum", [squares, axes], "square", keepdims=1), scorer.bias**2
    else:
        assert scorer.variances is not None
        variances = _dense(scorer, scorer.variances, 1, scorer.prior_variance)
        total = graph.node("MatMul", [squares, graph.constant("variances", variances)], "row_variance")
        own = scorer.intercept_variance * scorer.bias**2
    total = graph.node("Add", [total, graph.constant("own", own)], "spread")
    total = graph.node("Max", [total, graph.constant("least", LEAST_SQUARE)], "positive_spread")
    return graph.node("Div", [score, graph.node("Sqrt", [total], "divisor")], "divided")
