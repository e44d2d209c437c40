"""How near float32 must come: PyTorch's own float32 is the yardstick, its float64 the truth (docs/accuracy.md, Models)."""
import numpy as np

U = 2.0**-24


def near(ours, single, exact, what):
    """In the norm of all elements: four times what PyTorch loses in float32, and four roundings, for luck."""
    ours, single, exact = (np.asarray(x, np.float64) for x in (ours, single, exact))
    assert ours.shape == single.shape == exact.shape, what
    lost, may = np.linalg.norm(ours - exact), np.linalg.norm(single - exact)
    assert lost <= 4 * may + 4 * U * np.linalg.norm(exact), f"{what}: {lost:.3g}, PyTorch's float32 {may:.3g}"
