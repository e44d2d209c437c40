"""Tolerance of float32 results: PyTorch's float32 error, against its float64 as the reference (docs/accuracy.md, Models)."""
import numpy as np

U, BF16 = 2.0**-24, 2.0**-8


def near(ours, single, exact, what, u=U, size=None):
    """Checks that the error, in the norm of all elements, is at most four times PyTorch's plus four roundings of `size`,
    or of the norm of what is exact."""
    ours, single, exact = (np.asarray(x, np.float64) for x in (ours, single, exact))
    assert ours.shape == single.shape == exact.shape, what
    lost, may = np.linalg.norm(ours - exact), np.linalg.norm(single - exact)
    size = np.linalg.norm(exact) if size is None else size
    assert lost <= 4 * may + 4 * u * size, f"{what}: {lost:.3g}, PyTorch's own {may:.3g}"
