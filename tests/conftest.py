"""Generated code runs outside the engines in many tests: NumPy is as silent as they make it."""

import numpy as np

np.seterr(all="ignore")
