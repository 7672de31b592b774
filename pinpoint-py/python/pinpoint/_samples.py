"""The types of samples, for type checkers. At run time, the extension module decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsFloat, Union

import numpy as np
import numpy.typing as npt


class HasArray(Protocol):
    """An object that converts itself to an array: a series of pandas or Polars."""

    def __array__(self) -> npt.NDArray[Any]: ...


# Not npt.ArrayLike, which accepts a str as a sample.
Sample = Union[Sequence[SupportsFloat], "npt.NDArray[np.number[Any] | np.bool_]", HasArray]
