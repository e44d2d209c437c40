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
    "E before the weights": "E = [[1, 2], [3, 1]]\nX = [[1, 0], [0, 1]]\nW_Q = [[1, 0], [0, 1]]\nQ = [[1, 0], [0, 1]]\n",
    "weights before the mask": "No scaling.\n\n" + QKV + "\nweights = [[0.12, 0.88], [0.27, 0.73]]\n\nmask = [[1, 0], [1, 1]]\n\n"
        "masked weights = [[1, 0], [0.27, 0.73]]\n\noutput = [[1, 0], [0.27, 0.73]]\n",
    "no scaling, denied in Japanese": "スケーリングはしません。\n\n" + QKV + "\nweights = [[0.12, 0.88], [0.27, 0.73]]\n",
    "output by W_O": QKV + RIGHT + "W_O = [[2, 0], [0, 1]]\noutput = weights V W_O = [[0.40, 0.80], [0.66, 0.67]]\n",
    "two formulas joined": "Let Q = [[1, 0], [0, 1]], K = [[1, 1], [0, 1]] and V = [[2, 0], [0, 4]].\n\n"
        "Scores S = QK^T = [[1, 0], [1, 1]].\n",
    "tokens called A and B": "Q:\n- A: [1, 0]\n- B: [0, 1]\n\nK:\n- A: [1, 1]\n- B: [0, 1]\n\nscores:\n- A: [1, 0]\n- B: [1, 1]\n",
}

NEVER_WRONG = {
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
    "a product by NumPy": (QKV + RIGHT + "output = np.matmul(weights, V) = [[9, 9], [9, 9]]\n", ("output", 0, 0)),
    "A V": (QKV + "$$A = \\begin{bmatrix} 0.20 & 0.80 \\\\ 0.33 & 0.67 \\end{bmatrix}$$\n\n"
            "$$AV = \\begin{bmatrix} 0.20 & 0.80 \\\\ 0.33 & 0.76 \\end{bmatrix}$$\n", ("output", 1, 1)),
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
