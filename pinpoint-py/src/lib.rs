//! The extension module behind the Python package `pinpoint`.
//!
//! Nothing is decided here: `compare` and `search` translate between
//! Python's objects and the crates that do the work. What users see is chosen
//! in `python/pinpoint/__init__.py` and typed in `_pinpoint.pyi`.

mod arguments;
mod compare;
mod search;

use pyo3::prelude::*;

#[pymodule]
mod _pinpoint {
    #[pymodule_export]
    use crate::compare::{
        FunctionalComparison, PerformanceComparison, compare_functional, compare_performance,
    };
    #[pymodule_export]
    use crate::search::{Bisection, Outcome};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
