//! The causes of noise in measurements on this machine; as JSON, from which
//! `python/pinpoint/_doctor.py` makes classes.

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use pinpoint_backends::local::doctor::{THOROUGHLY, examine};
use pinpoint_backends::local::{CpuList, default_machine_dir};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::drive::Failure;
use crate::model::written;

/// The interval between checks for Ctrl-C.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(20);

#[doc = include_str!(concat!(env!("OUT_DIR"), "/doctor"))]
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>, cpu: Option<&str>) -> PyResult<String> {
    let cpus: Option<CpuList> = (cpu.map(str::parse).transpose())
        .map_err(|error| PyValueError::new_err(format!("`cpu`: {error}")))?;
    // On its own thread: an exception need not wait for its end.
    let examined = thread::Builder::new()
        .name("pinpoint-doctor".into())
        .spawn(move || examine(THOROUGHLY, cpus.as_ref(), &default_machine_dir()))?;
    while !examined.is_finished() {
        py.detach(|| thread::park_timeout(SIGNAL_POLL_INTERVAL));
        py.check_signals()?;
    }
    match examined.join() {
        Ok(Ok(diagnosis)) => written(&diagnosis),
        Ok(Err(error)) => Err(Failure::from(error).into_exception(py)),
        Err(panic) => resume_unwind(panic),
    }
}
