"""attn check on documents by other hands: 74 ones in 43 layouts that were written without sight of the reader, and small ones that were once read wrongly."""
import json
import random
import re
import subprocess
import tomllib

import pytest

from conftest import ATTN, SOURCE, write_foreign_documents

DOCUMENTS = SOURCE / "tests/lesson/documents"
SMALL = {name: d for toml in ("small.toml", "notations.toml", "facts.toml", "sequence.toml", "unread.toml", "formats.toml", "common.toml", "blind.toml", "authors.toml", "latest.toml", "set_40.toml", "set_129.toml") for name, d in tomllib.loads((DOCUMENTS / toml).read_text()).items()}
CAUSES = {  # of the key, by the names of attn check
    "arithmetic-slip": "arithmetic_cell", "sign-slip": "sign_slip", "digits-swapped": "transcription", "scaled-by-dk": "scale_by_dk",
    "wrong-row-or-column": "wrong_row_or_column", "scaled-wrong-dim": "scale_wrong_dim", "rounding-too-coarse": "rounding_too_coarse",
    "other-row-weights": "wrong_weight_row", "mask-off-by-one": "mask_off_by_one", "softmax-over-columns": "softmax_over_columns",
    "qk-swapped": "swapped_qk", "softmax-without-exp": "softmax_without_exp", "no-scaling": "missing_scale",
    "softmax-one-row": "softmax_cell", "transposed-weight": "transposed_weights", "output-with-K": "k_instead_of_v",
    "mask-ignored-row": "mask_ignored",
}


def reports(folder, files):
    done = subprocess.run([ATTN, "check", "--json", *files], cwd=folder, capture_output=True, text=True, timeout=300)
    return dict(zip(files, map(json.loads, done.stdout.splitlines()), strict=True))


def first_wrong(report):
    return next((e["first_wrong"] for e in report["examples"] if e["first_wrong"]), None) if report["verdict"] == "wrong" else None


@pytest.fixture(scope="module")
def blind(tmp_path_factory):
    """(the truth, the reports, the folder) of the blind documents. The truth is computed twice, by programs that share no code."""
    folder = write_foreign_documents(tmp_path_factory.mktemp("blind"), "verify.py")
    key = json.loads((folder / "key.json").read_text())
    return key, reports(folder, sorted(key)), folder


def of(key, verdict):
    return [f for f, truth in key.items() if truth["verdict"] == verdict]


def is_placed(truth, found):
    cells = [tuple(c) for c in truth["cells"] + truth["doubtful_cells"]] + [(truth["row"], truth["col"]), (truth.get("row_printed"), truth["col"])]
    return bool(found) and found["step"] == truth["step"] and (found["row"], found["col"]) in cells


def test_right_documents_are_correct(blind):
    key, report, _ = blind
    verdicts = [report[f]["verdict"] for f in of(key, "correct")]
    print(f"{verdicts.count('correct')} of {len(verdicts)} right documents are correct")
    assert "wrong" not in verdicts and verdicts.count("correct") >= 31


def test_slips_are_placed_and_named(blind):
    key, report, _ = blind
    slips = of(key, "wrong")
    placed = [f for f in slips if is_placed(key[f], first_wrong(report[f]))]
    named = [f for f in placed if first_wrong(report[f])["cause"] in {CAUSES[c] for c in [key[f]["cause"], *key[f]["cause_also"]]}]
    print(f"{len(placed)} of {len(slips)} slips are placed, {len(named)} named")
    assert len(placed) >= 35 and len(named) >= 35
    assert all(report[f]["verdict"] != "correct" for f in slips)


def test_what_cannot_be_checked_is_refused(blind):
    key, report, _ = blind
    refused = [f for f in of(key, "bad_input") if report[f]["verdict"] in ("bad_input", "nothing_to_check")
               or (key[f]["reason"] == "missing-matrix" and report[f]["verdict"] != "wrong")]
    print(f"{len(refused)} of {len(of(key, 'bad_input'))} are refused")
    assert len(refused) == len(of(key, "bad_input")) and all(report[f]["verdict"] != "correct" for f in of(key, "bad_input"))


def moved(text, rng, count):
    """The text with one decimal moved far, `count` times."""
    at = list(re.finditer(r"(?<![\w.^_\\-])-?\d+\.\d+(?![\w.])", text))
    for m in rng.sample(at, min(count, len(at))):
        yield text[:m.start()] + f"{float(m[0]) + 1.37:.{len(m[0].split('.')[1])}f}" + text[m.end():]


def test_a_decimal_that_is_moved_far_is_noticed(blind):
    """No document is `correct` if it has numbers that were not read."""
    key, report, folder = blind
    rng, files = random.Random(1), []
    for f in of(key, "correct"):
        if report[f]["verdict"] != "correct":
            continue
        for n, text in enumerate(moved((folder / f).read_text(), rng, 8)):
            files.append(f"moved{n}-{f}")
            (folder / files[-1]).write_text(text)
    unnoticed = [f for f, r in reports(folder, files).items() if r["verdict"] == "correct"]
    print(f"{len(unnoticed)} of {len(files)} moved decimals are not noticed: {' '.join(unnoticed)}")
    assert len(files) > 200 and len(unnoticed) <= .01 * len(files)


@pytest.fixture(scope="module")
def small(request, tmp_path_factory):
    """The reports of the documents whose tests are selected."""
    folder = tmp_path_factory.mktemp("small")
    names = [item.callspec.params["name"] for item in request.session.items if getattr(item, "originalname", "") == "test_small_documents"]
    for name in names:
        (folder / name).write_text(SMALL[name]["text"])
    return reports(folder, names)


@pytest.mark.parametrize("name", SMALL)
def test_small_documents(small, name):
    report, truth = small[name], SMALL[name]
    found = first_wrong(report)
    assert report["verdict"] == truth["verdict"]
    assert [found[k] for k in ("step", "row", "col", "cause")] == truth["first"] if "first" in truth else found is None
    assert [u["line"] for u in report.get("unread", [])] == truth.get("unread", [])
