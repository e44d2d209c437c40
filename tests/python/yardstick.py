"""How near float32 must come: PyTorch's own float32 is the yardstick, its float64 the truth (docs/accuracy.md, Models)."""
import numpy as np

U, BF16 = 2.0**-24, 2.0**-8


def near(ours, single, exact, what, u=U):
    """In the norm of all elements: four times what PyTorch loses in the same precision, and four roundings, for luck."""
    ours, single, exact = (np.asarray(x, np.float64) for x in (ours, single, exact))
    assert ours.shape == single.shape == exact.shape, what
    lost, may = np.linalg.norm(ours - exact), np.linalg.norm(single - exact)
    assert lost <= 4 * may + 4 * u * np.linalg.norm(exact), f"{what}: {lost:.3g}, PyTorch's own {may:.3g}"
