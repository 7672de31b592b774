//! Jobs that run on their own: commands on this machine, Python's functions, or both.
//!
//! `drive` blocks, on its own thread in Python; `python/pinpoint/_drive.py` starts it. The life of
//! a job is that of `pinpoint_backends::job`, as on the command line, and so are its records;
//! Python's share of the work is requested over a [`Bridge`](bridge::Bridge).

mod bridge;
mod executor;
mod failure;
mod good_end;
mod job;
mod outcome;
mod progress;
mod search;

use std::sync::Arc;

use pyo3::prelude::*;
use tokio::sync::Notify;

use self::bridge::Bridge;
pub(crate) use self::failure::{Failure, spec_message};
pub(crate) use self::job::{try_to_cancel, with_store};
pub(crate) use self::outcome::{document, explained};

#[doc = include_str!(concat!(env!("OUT_DIR"), "/Stop"))]
#[pyclass(frozen, module = "pinpoint")]
#[derive(Default)]
pub(crate) struct Stop(Arc<Notify>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[doc = include_str!(concat!(env!("OUT_DIR"), "/Stop.interrupt"))]
    fn interrupt(&self) {
        self.0.notify_one();
    }
}

#[doc = include_str!(concat!(env!("OUT_DIR"), "/drive"))]
#[pyfunction]
pub(crate) fn drive(
    py: Python<'_>,
    request: &str,
    bridge: Py<PyAny>,
    stop: &Bound<'_, Stop>,
) -> PyResult<String> {
    let bridge = Arc::new(Bridge::new(bridge));
    let stop = Arc::clone(&stop.get().0);
    let driven = py.detach(|| {
        let runtime = runtime()?;
        let driven = runtime.block_on(job::run(request, &bridge, &stop));
        runtime.shutdown_background();
        driven
    });
    // An exception of a Python function is raised again unchanged.
    if let Some(raised) = bridge.raised() {
        return Err(raised);
    }
    driven.map_err(|failure| failure.into_exception(py))
}

/// The runtime of one job: it does not outlive the job, and a forked process makes a new one.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(Failure::job)
}
