"""ONNX's own node tests of Attention, by ONNX's own runner; how many ran is printed and checked."""
import unittest
import warnings

import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from attn.onnx import Backend


def attention_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the generator's own arithmetic
        cases = load_model_tests(kind="node")
    return [c for c in cases if len(c.model.graph.node) == 1 and c.model.graph.node[0].op_type == "Attention"]


def test_every_attention_case_of_onnx():
    cases, failed = attention_cases(), []
    for case in cases:
        ready = Backend.prepare(case.model)
        for inputs, wanted in case.data_sets:
            try:
                Runner.assert_similar_outputs(list(wanted), ready.run(inputs), case.rtol, case.atol)
            except AssertionError as reason:
                failed.append(f"{case.name}: {reason}")
    print(f"onnx {onnx.__version__}: {len(cases) - len(failed)} of {len(cases)} Attention cases pass")
    assert len(cases) >= 93 and not failed, "\n".join(failed)


def test_other_models_are_refused():
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [value("x")], [value("y")]))
    assert not Backend.is_compatible(model)
    with unittest.TestCase().assertRaises(NotImplementedError):
        Backend.prepare(model)
