"""What counts as a sample, for type checkers. At run time, the extension module decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsFloat, Union

import numpy as np
import numpy.typing as npt


class HasArray(Protocol):
    """What makes an array of itself: a series of pandas or Polars."""

    def __array__(self) -> npt.NDArray[Any]: ...


# Not npt.ArrayLike, which takes a str for a sample.
Sample = Union[Sequence[SupportsFloat], "npt.NDArray[np.number[Any] | np.bool_]", HasArray]
