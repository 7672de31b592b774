//! The extension module behind the Python package `pinpoint`.
//!
//! No decisions are made here: the modules translate between Python's objects and the crates that
//! do the work. The public names are chosen in `python/pinpoint/__init__.py` and typed, with their
//! documentation, in `_pinpoint.pyi`.

#![expect(
    clippy::doc_lazy_continuation,
    reason = "what Python shows is written for Python, in the stub"
)]

mod arguments;
mod compare;
mod detect;
mod doctor;
mod drive;
mod many;
mod model;
mod profile;
mod results;
mod samples;
mod search;
mod traces;

use pyo3::prelude::*;

#[pymodule]
mod _pinpoint {
    #[pymodule_export]
    use crate::compare::{
        compare_functional, compare_pairwise, compare_performance, high_threshold, ks_2samp,
        mann_whitney_u, wilcoxon,
    };
    #[pymodule_export]
    use crate::detect::{Detector, detect, perfherder_alerts};
    #[pymodule_export]
    use crate::doctor::doctor;
    #[pymodule_export]
    use crate::drive::{Stop, drive};
    #[pymodule_export]
    use crate::many::{Comparisons, compare_many};
    #[pymodule_export]
    use crate::model::{
        BotConfigs, combined_commit, midpoint, outcome_document, stored_jobs, stored_outcome,
        try_to_cancel,
    };
    #[pymodule_export]
    use crate::profile::{Profile, explain_profiles, parse_profile};
    #[pymodule_export]
    use crate::search::{Bisection, CulpritFinder, Pairwise, pairwise_outcome};
    #[pymodule_export]
    use crate::traces::TraceReader;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
