"""ONNX's node tests of four operators, by ONNX's runner; their number is printed and checked."""
import unittest
import warnings

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from attn import sdpa
from attn.onnx import Backend, layer_normalization, rms_normalization


LEAST = {"Attention": 93, "RotaryEmbedding": 8, "LayerNormalization": 19, "RMSNormalization": 19}


@pytest.fixture(scope="module")
def cases():
    """Returns the models of a single node by operator, without expanded functions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the generator's own arithmetic
        tests = load_model_tests(kind="node")
    single = [c for c in tests if len(c.model.graph.node) == 1]
    return {op: [c for c in single if c.model.graph.node[0].op_type == op] for op in LEAST}


@pytest.mark.parametrize("operator", LEAST)
def test_onnx_node_cases(cases, operator):
    failed = []
    for case in cases[operator]:
        ready = Backend.prepare(case.model)
        assert case.data_sets, case.name
        for inputs, wanted in case.data_sets:
            try:
                Runner.assert_similar_outputs(list(wanted), ready.run(inputs), case.rtol, case.atol)
            except AssertionError as reason:
                failed.append(f"{case.name}: {reason}")
    count = len(cases[operator])
    print(f"onnx {onnx.__version__}: {count - len(failed)} of {count} {operator} cases pass")
    assert count >= LEAST[operator] and not failed, "\n".join(failed)


@pytest.mark.parametrize("stash_type, kind", [(1, "float32"), (16, "bfloat16")])
def test_stash_types(stash_type, kind):
    """Mean and InvStdDev have stash_type, Y has X's type, or scale's for RMSNormalization."""
    x = np.random.default_rng(0).normal(size=(3, 8)).astype("float16")
    y, mean, inverse = layer_normalization(x, np.ones(8, "float16"), axis=1, stash_type=stash_type)
    assert (y.dtype.name, mean.dtype.name, inverse.dtype.name) == ("float16", kind, kind) and mean.shape == (3, 1)
    assert rms_normalization(x, np.ones(8, "float64")).dtype == "float64"
    with pytest.raises(ValueError, match="stash_type"):
        layer_normalization(x, np.ones(8, "float16"), stash_type=10)


def test_unsupported_models():
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [value("x")], [value("y")]))
    assert not Backend.is_compatible(model)
    with unittest.TestCase().assertRaises(NotImplementedError):
        Backend.prepare(model)
    node.op_type, node.domain = "RotaryEmbedding", "com.microsoft"  # another operator of that name
    assert not Backend.is_compatible(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [value("x")], [value("y")])))


def masked_attention(**graph):
    """Q, K, V and a constant mask M."""
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
    node = onnx.helper.make_node("Attention", ["Q", "K", "V", "M"], ["Y"])
    inputs = [value(name) for name in graph.pop("inputs", "QKV")]
    return onnx.helper.make_model(onnx.helper.make_graph([node], "g", inputs, [value("Y")], **graph))


@pytest.mark.parametrize("inputs", ["QKV", "QKVM"])
def test_initializers(inputs):
    """An initializer is the default of the graph input of its name."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, 2, 5, 4)).astype("f4") for _ in range(3))
    mask, other = (rng.normal(size=(5, 5)).astype("f4") for _ in range(2))
    ready = Backend.prepare(masked_attention(inputs=inputs, initializer=[onnx.numpy_helper.from_array(mask, "M")]))
    assert np.array_equal(ready.run([q, k, v])[0], sdpa(q, k, v, mask=mask))
    if inputs == "QKVM":
        assert np.array_equal(ready.run([q, k, v, other])[0], sdpa(q, k, v, mask=other))
    for wrong in ([q, k], [q, k, v, mask, mask]):
        with pytest.raises(ValueError, match="expected . inputs"):
            ready.run(wrong)


def test_sparse_initializers_are_rejected():
    sparse = onnx.helper.make_sparse_tensor(onnx.helper.make_tensor("M", onnx.TensorProto.FLOAT, [1], [1.0]),
                                            onnx.helper.make_tensor("at", onnx.TensorProto.INT64, [1], [0]), [5, 5])
    assert not Backend.is_compatible(masked_attention(sparse_initializer=[sparse]))
