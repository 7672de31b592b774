//! Calls to Python, from the threads of a driver.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pinpoint_core::ExecutorError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

/// A callable of Python's: `bridge(method, action, json, reply)`. It returns at once, and `reply`
/// gets the answer later, from any thread.
pub(super) struct Bridge {
    callable: Py<PyAny>,
    /// The first exception that a Python function raised.
    raised: Mutex<Option<PyErr>>,
}

enum CallbackResult {
    Json(String),
    Raised(PyErr),
    Unavailable(String),
}

/// Takes one answer.
#[pyclass(frozen, module = "pinpoint")]
pub(crate) struct Reply(Mutex<Option<oneshot::Sender<CallbackResult>>>);

#[pymethods]
impl Reply {
    fn answer(&self, json: String) {
        self.send(CallbackResult::Json(json));
    }

    fn raised(&self, exception: Bound<'_, PyAny>) {
        self.send(CallbackResult::Raised(PyErr::from_value(exception)));
    }

    fn unavailable(&self, reason: String) {
        self.send(CallbackResult::Unavailable(reason));
    }
}

impl Reply {
    fn send(&self, answer: CallbackResult) {
        if let Some(sender) = locked(&self.0).take() {
            // The receiver may be gone.
            drop(sender.send(answer));
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum PythonError {
    #[error("{0}")]
    Raised(String),
    #[error("{0}")]
    Unavailable(String),
    #[error("Python gave no answer: its event loop ended")]
    Silent,
    #[error("Python's answer can't be read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

impl Bridge {
    pub(super) fn new(callable: Py<PyAny>) -> Self {
        Self {
            callable,
            raised: Mutex::default(),
        }
    }

    pub(super) fn raised(&self) -> Option<PyErr> {
        locked(&self.raised).take()
    }

    /// Sends Python a message that needs no answer.
    pub(super) fn tell(&self, method: &str, action: u64, payload: &impl Serialize) {
        // A loop that has ended receives nothing, and need not.
        drop(self.call(method, action, payload, None));
    }

    /// Asks Python. Dropping the future ends the work begun for it.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        action: u64,
        payload: &impl Serialize,
    ) -> Result<T, ExecutorError> {
        let refused = |error: PythonError| ExecutorError::Refused(Box::new(error));
        let (sender, receiver) = oneshot::channel();
        let reply = Reply(Mutex::new(Some(sender)));
        if let Err(error) = self.call(method, action, payload, Some(reply)) {
            return Err(refused(self.remember(error)));
        }
        let mut unanswered = EndOnDrop {
            bridge: self,
            action: Some(action),
        };
        let answer = receiver.await;
        unanswered.action = None;
        match answer {
            Ok(CallbackResult::Json(json)) => {
                serde_json::from_str(&json).map_err(|error| refused(error.into()))
            }
            Ok(CallbackResult::Raised(error)) => Err(refused(self.remember(error))),
            Ok(CallbackResult::Unavailable(reason)) => Err(ExecutorError::Unavailable(Box::new(
                PythonError::Unavailable(reason),
            ))),
            Err(_) => Err(refused(PythonError::Silent)),
        }
    }

    fn call(
        &self,
        method: &str,
        action: u64,
        payload: &impl Serialize,
        reply: Option<Reply>,
    ) -> PyResult<()> {
        let json = serde_json::to_string(payload).unwrap_or_else(|_| "null".into());
        Python::attach(|py| {
            self.callable
                .call1(py, (method, action, json, reply))
                .map(drop)
        })
    }

    /// Keeps it to be raised again; returns the error for the job's record.
    fn remember(&self, error: PyErr) -> PythonError {
        // Its type and its message.
        let said = PythonError::Raised(error.to_string());
        locked(&self.raised).get_or_insert(error);
        said
    }
}

struct EndOnDrop<'a> {
    bridge: &'a Bridge,
    action: Option<u64>,
}

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(action) = self.action {
            self.bridge.tell("cancel", action, &());
        }
    }
}

/// Locks a mutex; no holder panics.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
