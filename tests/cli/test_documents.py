"""Documents that were once misread: the verdict, and the first wrong number."""
import json

import pytest

QKV = "Q = [[1, 2], [0, 1]]\nK = [[1, 0], [1, 1]]\nV = [[1, 0], [0, 1]]\n"
RIGHT = "weights = [[0.20, 0.80], [0.33, 0.67]]\n"  # softmax(Q K^T / sqrt 2)

CORRECT = {
    "a list over several lines": "Q:\n\n[[1, 2, 3, 4],\n [5, 6, 7, 8]]\n\nK = [[1, 0, 0, 0], [0, 1, 0, 0]]\n"
        "scores = [[1, 2], [5, 6]]\n",
    "NumPy's own printing": "Q:\n[[-0.8  -1.32 -0.25]\n [ 0.42  1.14  0.11]]\nK:\n[[1. 0. 0.]\n [0. 1. 0.]]\n"
        "scores:\n[[-0.8  -1.32]\n [ 0.42  1.14]]\n",
    "significant digits": "Q = [[3.9311, 0.12345], [1, 2]]\nK = [[1, 0], [0, 0.1]]\n"
        "scores = [[3.931, 0.01235], [1, 0.2]]\n",
    "a LaTeX file": "\\documentclass{article}\n\\begin{document}\n\\section{Example}\n\\begin{equation}\n"
        "Q = \\begin{pmatrix}1&0\\\\0&1\\end{pmatrix}\n\\end{equation}\n\\begin{equation}\n"
        "K = \\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}\n\\end{equation}\n\\begin{equation}\n"
        "QK^T = \\begin{pmatrix}1&3\\\\2&4\\end{pmatrix}\n\\end{equation}\n\\end{document}\n",
    "a stated divisor": "$d_k = 64$, so we divide by $\\sqrt{64} = 8$.\n\n"
        "$Q = \\begin{bmatrix}8&16\\\\0&8\\end{bmatrix}$, $K = \\begin{bmatrix}1&0\\\\1&1\\end{bmatrix}$\n\n"
        "$\\frac{QK^T}{\\sqrt{64}} = \\begin{bmatrix}1&3\\\\0&1\\end{bmatrix}$\n",
    "a divisor in the name": "Q = [[8, 16], [0, 8]]\nK = [[1, 0], [1, 1]]\nscores / 8 = [[1, 3], [0, 1]]\n",
    "learned positions": "PE = [[0, 1], [1, 0]]\n\nX = [[1, 0], [0, 1]]\n\nX + PE = [[1, 1], [1, 1]]\n",
    "no scaling, denied in Japanese": "スケーリングはしません。\n\n" + QKV + "\nweights = [[0.12, 0.88], [0.27, 0.73]]\n",
    "output by W_O": QKV + RIGHT + "W_O = [[2, 0], [0, 1]]\noutput = weights V W_O = [[0.40, 0.80], [0.66, 0.67]]\n",
    "two formulas joined": "Let Q = [[1, 0], [0, 1]], K = [[1, 1], [0, 1]] and V = [[2, 0], [0, 4]].\n\n"
        "Scores S = QK^T = [[1, 0], [1, 1]].\n",
    "tokens called A and B": "Q:\n- A: [1, 0]\n- B: [0, 1]\n\nK:\n- A: [1, 1]\n- B: [0, 1]\n\nscores:\n- A: [1, 0]\n- B: [1, 1]\n",
}

NEVER_WRONG = {
    # numbers that nothing explains
    "E before the weights": "E = [[1, 2], [3, 1]]\nX = [[1, 0], [0, 1]]\nW_Q = [[1, 0], [0, 1]]\nQ = [[1, 0], [0, 1]]\n",
    "weights before the mask": "No scaling.\n\n" + QKV + "\nweights = [[0.12, 0.88], [0.27, 0.73]]\n\nmask = [[1, 0], [1, 1]]\n\n"
        "masked weights = [[1, 0], [0.27, 0.73]]\n\noutput = [[1, 0], [0.27, 0.73]]\n",
    "a bias": "X = [[1, 0], [0, 1]]\nW_Q = [[1, 0], [0, 1]]\nQ = X W_Q + b_Q = [[1.5, 0], [0.5, 1]]\n",
    "positions within the formula": "X = [[1, 0], [0, 1]]\nP = [[0, 1], [0.84, 0.54]]\nW_Q = [[1, 0], [0, 1]]\n"
        "Q = (X + P) W_Q = [[1, 1], [0.84, 1.54]]\n",
    "dropout": QKV + RIGHT + "weights after dropout = [[0, 1.6], [0.66, 0]]\noutput = [[0, 1.6], [0.66, 0]]\n",
    "a residual": "X = [[1, 0], [0, 1]]\n" + QKV + RIGHT + "\nAfter adding the residual X the output is\n\noutput = [[1.2, 0.8], [0.33, 1.67]]\n",
    "a token called the": "q_the = [2, 1]\nk_the = [1, 2]\nv_the = [4, 2]\nk_cat = [3, 0]\nv_cat = [1, 2]\noutput = [1.59, 2.0]\n",
    "keys of tokens in brackets": "クエリ(猫) = [1, 0]\nキー(猫) = [1, 0]\nキー(犬) = [0, 1]\n出力 = [1.66, 2.66]\n",
}

WRONG = {
    "two equals signs": (QKV + "No scaling.\n\nweights = softmax(scores) = [[0.12, 0.88], [0.40, 0.60]]\n", ("weights", 1, 0)),
    "a product by NumPy": (QKV + RIGHT + "output = np.matmul(weights, V) = [[0.90, 0.80], [0.33, 0.67]]\n", ("output", 0, 0)),
    "A V": (QKV + "$$A = \\begin{bmatrix} 0.20 & 0.80 \\\\ 0.33 & 0.67 \\end{bmatrix}$$\n\n"
            "$$AV = \\begin{bmatrix} 0.20 & 0.80 \\\\ 0.33 & 0.76 \\end{bmatrix}$$\n", ("output", 1, 1)),
}

# One slip each; the cause is that of the first wrong number.
GIVEN = ("Q = [[2, 0, 1, 1], [0, 1, -1, 2], [1, 2, 0, -1]]\nK = [[1, 1, 0, 2], [0, 2, 1, 1], [2, 0, 1, 0]]\n"
         "V = [[3, 1], [0, 2], [5, -1]]\n")
SCALED = ("scores = [[4, 2, 5], [5, 3, -1], [1, 3, 2]]\n"
          "scaled = [[2.0, 1.0, 2.5], [2.5, 1.5, -0.5], [0.5, 1.5, 1.0]]\n")
UP_TO = GIVEN + SCALED
CAUSAL = GIVEN + "Causal mask: no token sees a later one.\n\n" + SCALED
WEIGHTS = "weights = [[0.3315, 0.1220, 0.5465], [0.7054, 0.2595, 0.0351], [0.1863, 0.5065, 0.3072]]\n"
ROOT_OF_3 = ("d_k = 3\n\nQ = [[2, 0, 1], [0, 1, -1], [1, 2, 0]]\nK = [[1, 1, 0], [0, 2, 1], [2, 0, 2]]\n"
             "scores = [[2, 1, 6], [1, 1, -2], [3, 4, 2]]\n")
SCALED_BY_3 = ROOT_OF_3 + "scaled = [[1.1547, 0.5774, 3.4641], [0.5774, 0.5774, -1.1547], [1.7321, 2.3094, 1.1547]]\n"

CAUSES = {
    "one row of the softmax": (UP_TO + "weights = [[0.331, 0.122, 0.547], [2.394, 0.881, 0.119], [0.186, 0.506, 0.307]]\n",
        "weights 1 0 softmax_cell"),
    "a row of the causal mask": ("Causal mask: no token sees a later one.\n\nNo scaling.\n\n"
        "Q = [[1, 2], [0, 1], [2, 1], [1, 0]]\nK = [[1, 1], [2, 0], [0, 3], [1, 4]]\n"
        "scores = [[3, 2, 6, 9], [1, 0, 3, 4], [3, 4, 3, 6], [1, 2, 0, 1]]\n"
        "masked = [[3, -inf, -inf, -inf], [1, 0, 3, 4], [3, 4, 3, -inf], [1, 2, 0, 1]]\n", "masked 1 2 mask_ignored"),
    "one cell of the causal mask": (CAUSAL + "masked = [[2.0, -inf, 2.5], [2.5, 1.5, -inf], [0.5, 1.5, 1.0]]\n",
        "masked 0 2 mask_off_by_one"),
    "a row of a padding mask": (UP_TO + "mask = [[1, 1, 0], [1, 1, 0], [1, 1, 0]]\n"
        "masked = [[2.0, 1.0, -inf], [2.5, 1.5, -0.5], [0.5, 1.5, -inf]]\n", "masked 1 2 mask_ignored"),
    "a row of the mask, seen in the weights": (CAUSAL + "weights = softmax(masked) = [[0.331, 0.122, 0.547], "
        "[0.731, 0.269, 0.000], [0.186, 0.506, 0.307]]\n", "weights 0 0 mask_ignored"),
    "no scaling, before a mask": (CAUSAL + "weights = softmax(masked) = [[1.000, 0.000, 0.000], [0.881, 0.119, 0.000], "
        "[0.090, 0.665, 0.245]]\n", "weights 1 0 missing_scale"),
    "one row not scaled": (GIVEN + "d_k = 4\n\nscores = [[4, 2, 5], [5, 3, -1], [1, 3, 2]]\n"
        "scaled = [[2.0, 1.0, 2.5], [5.0, 3.0, -1.0], [0.5, 1.5, 1.0]]\n", "scaled 1 0 missing_scale"),
    "columns, nothing shown between": (GIVEN + "d_k = 4\n\nweights = softmax(Q K^T / sqrt(d_k)) = [[0.348, 0.233, 0.786], "
        "[0.574, 0.384, 0.039], [0.078, 0.384, 0.175]]\n", "weights 0 0 softmax_over_columns"),
    "columns, from rounded numbers": ("d_k = 3\n\nQ = [[-2, -2, -1], [-2, -1, -3], [-1, 0, -2]]\n"
        "K = [[-3, 1, 1], [0, -2, -2], [1, -2, -2]]\nscores = [[3, 6, 4], [2, 8, 6], [1, 4, 3]]\n"
        "scaled = [[1.732, 3.464, 2.309], [1.155, 4.619, 3.464], [0.577, 2.309, 1.732]]\n"
        "weights = [[0.5329, 0.2228, 0.2112], [0.2992, 0.7071, 0.6702], [0.1679, 0.0702, 0.1186]]\n",
        "weights 0 0 softmax_over_columns"),
    "another row's weights": (UP_TO + WEIGHTS + "output = [[3.7268, 0.0289], [2.2917, 1.1893], [2.2917, 1.1893]]\n",
        "output 2 0 wrong_weight_row"),
    "an output that is the row above, and an exchange of digits": (
        "Q = [[1, 0, 2], [0, 1, 1], [2, 1, 0]]\nK = [[1, 1, 0], [0, 1, 1], [0, 0, 1]]\nV = [[3, 1], [0, 2], [5, -1]]\n"
        "scores = [[1, 2, 2], [1, 2, 1], [3, 1, 0]]\nscaled = [[0.58, 1.15, 1.15], [0.58, 1.15, 0.58], [1.73, 0.58, 0.00]]\n"
        "weights = [[0.22, 0.39, 0.39], [0.27, 0.47, 0.27], [0.67, 0.21, 0.12]]\n"
        "output = [[2.61, 0.61], [2.16, 0.94], [2.16, 0.94]]\n", "output 2 0 wrong_weight_row"),
    "an operand miscopied for a whole row": (UP_TO + WEIGHTS + "output = [[3.6730, 0.0110], [2.2917, 1.1893], [2.0950, 0.8921]]\n",
        "output 0 0 transcription"),
    "an operand miscopied for a whole column": ("X = [[1, 2], [0, 1], [2, 1]]\nW_Q = [[12, 3], [5, 21]]\n"
        "Q = [[22, 27], [5, 12], [29, 18]]\n", "Q 0 1 transcription"),
    "weights to one decimal": (UP_TO + WEIGHTS + "output = [[3.4000, 0.0000], [2.1000, 1.3000], [2.1000, 0.9000]]\n",
        "output 0 0 rounding_too_coarse"),
    "scaled scores to one decimal": (SCALED_BY_3 + "weights = [[0.0868, 0.0476, 0.8656], [0.4618, 0.4618, 0.0763], "
        "[0.2917, 0.5314, 0.1769]]\n", "weights 0 0 rounding_too_coarse"),
    "exponentials to one decimal": (SCALED_BY_3 + "weights = [[0.0867, 0.0488, 0.8645], [0.4615, 0.4615, 0.0769], "
        "[0.3000, 0.5316, 0.1684]]\n", "weights 0 0 rounding_too_coarse"),
    "a root to two decimals in two cells": (ROOT_OF_3 + "scaled = [[1.1547, 0.5774, 3.4682], [0.5774, 0.5774, -1.1547], "
        "[1.7321, 2.3094, 1.1561]]\n", "scaled 0 2 rounding_too_coarse"),
    "a root to two decimals in one cell": ("d_k = 3\n\nQ = [[0, -1, -2], [0, 2, 0], [0, -2, -2]]\n"
        "K = [[0, 3, -1], [0, 1, 2], [0, 3, -2]]\nscores = [[-1, -5, 1], [6, 2, 6], [-4, -6, -2]]\n"
        "scaled = [[-0.5774, -2.8868, 0.5774], [3.4641, 1.1547, 3.4641], [-2.3121, -3.4641, -1.1547]]\n",
        "scaled 2 0 rounding_too_coarse"),
    "two slips": (GIVEN + "scores = [[4, -2, 5], [5, 3, -1], [1, 3, 5]]\n", "scores 0 1 sign_slip"),
    "K and V are equal": ("Q = [[1, 0], [0, 1]]\nK = [[1, 0], [0, 1]]\nV = [[1, 0], [0, 1]]\n"
        "scaled = [[0.7071, 0.0000], [0.0000, 0.7071]]\nweights = [[0.6698, 0.3302], [0.3302, 0.6698]]\n"
        "output = [[0.67, 0.34], [0.33, 0.67]]\n", "output 0 1 arithmetic_cell"),
}


def verdict(attn, tmp_path, text, status):
    (tmp_path / "a.md").write_text(text)
    return json.loads(attn("check", "--json", "a.md", status=status).stdout)


@pytest.mark.parametrize("name", CORRECT)
def test_right_documents(attn, tmp_path, name):
    report = verdict(attn, tmp_path, CORRECT[name], 0)
    assert report["verdict"] == "correct"
    assert any(s["status"] == "ok" for e in report["examples"] for s in e["steps"])


@pytest.mark.parametrize("name", NEVER_WRONG)
def test_what_is_not_understood_is_not_called_wrong(attn, tmp_path, name):
    (tmp_path / "a.md").write_text(NEVER_WRONG[name])
    for status in (0, 2):  # right or doubtful, or nothing to check
        try:
            report = json.loads(attn("check", "--json", "a.md", status=status).stdout)
        except AssertionError:
            continue
        assert report["verdict"] in ("correct", "doubtful", "nothing_to_check")
        return
    pytest.fail("called wrong, or unreadable")


@pytest.mark.parametrize("name", WRONG)
def test_errors_in_these_notations_are_found(attn, tmp_path, name):
    text, place = WRONG[name]
    first = verdict(attn, tmp_path, text, 1)["examples"][0]["first_wrong"]
    assert (first["step"], first["row"], first["col"]) == place


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_of_the_first_wrong_number(attn, tmp_path, name):
    text, blamed = CAUSES[name]
    first = verdict(attn, tmp_path, text, 1)["examples"][0]["first_wrong"]
    assert "{step} {row} {col} {cause}".format(**first) == blamed


# Weights of the text's root, with a slip of another kind: where the scaled scores are not printed, the right number is still of scaled ones.
DIVIDED = ("We compute softmax(Q K^T / sqrt(2)) V.\n\nQ = [[1, 0], [0, 1], [1, 1]]\nK = [[1, 1], [0, 1], [1, 0]]\n"
           "Q K^T = [[1, 0, 1], [1, 1, 0], [2, 1, 1]]\n\nweights = ")


@pytest.mark.parametrize("weights", [
    "[[0.384, 0.233, 0.384], [0.384, 0.384, 0.233], [0.452, 0.274, 0.274]]",  # by d_k
    "[[0.248, 0.198, 0.401], [0.248, 0.401, 0.198], [0.503, 0.401, 0.401]]",  # down the columns
    "[[0.5, 0, 0.5], [0.5, 0.5, 0], [0.5, 0.25, 0.25]]",  # without the exponential
])
def test_the_right_number_is_divided_as_the_text_says(attn, tmp_path, weights):
    first = verdict(attn, tmp_path, DIVIDED + weights + "\n", 1)["examples"][0]["first_wrong"]
    assert (first["step"], round(first["expected"], 4)) == ("weights", 0.4011)
