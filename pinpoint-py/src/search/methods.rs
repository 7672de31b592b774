//! The methods that the machines share in Python.

/// The methods of a class whose field `search` is its machine.
macro_rules! shared_methods {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            #[doc = include_str!(concat!(env!("OUT_DIR"), "/", stringify!($class), ".next"))]
            fn next<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
                self.search.next(py)
            }

            #[doc = include_str!(concat!(env!("OUT_DIR"), "/", stringify!($class), ".skip"))]
            fn skip(&mut self, index: &Bound<'_, PyAny>) -> PyResult<()> {
                let index = self.search.index("index", index)?;
                self.search.skip(index)
            }

            #[doc = include_str!(concat!(env!("OUT_DIR"), "/", stringify!($class), ".time_passed"))]
            fn time_passed(&mut self, elapsed: f64) -> PyResult<()> {
                let elapsed = arguments::milliseconds("elapsed", elapsed)?;
                self.search.time_passed(elapsed)
            }

            #[doc = include_str!(concat!(env!("OUT_DIR"), "/", stringify!($class), ".to_json"))]
            fn to_json(&self) -> PyResult<String> {
                self.search.to_json()
            }

            #[doc = include_str!(concat!(env!("OUT_DIR"), "/", stringify!($class), ".from_json"))]
            #[classmethod]
            fn from_json(_class: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
                Batches::from_json(text).map(|search| Self { search })
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
                let read = slf.get_type().getattr("from_json")?;
                Ok((read, (slf.borrow().to_json()?,)))
            }
        }
    };
}

/// The methods of those that search commits, and ask for runs of one.
macro_rules! search_methods {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            #[doc = include_str!(concat!(env!("OUT_DIR"), "/", stringify!($class), ".record"))]
            #[pyo3(signature = (index, values, failures=None, bots=None, started=None), text_signature = "($self, index, values, failures=0, bots=None, started=None)")]
            fn record(
                &mut self,
                index: &Bound<'_, PyAny>,
                values: &Bound<'_, PyAny>,
                failures: Option<&Bound<'_, PyAny>>,
                bots: Option<&Bound<'_, PyAny>>,
                started: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<()> {
                let index = self.search.index("index", index)?;
                let runs = reported_runs::runs(values, failures, bots, started)?;
                self.search.record(RequestedTask::Run(index), runs)
            }

            fn __repr__(&self) -> String {
                let (name, commits) = (stringify!($class), self.search.commits);
                match self.search.machine.outcome() {
                    Some(found) => {
                        format!("<{name} of {commits} commits: {}>", found.status.as_str())
                    }
                    None => {
                        let runs = self.search.runs;
                        format!("<{name} of {commits} commits: {runs} runs so far>")
                    }
                }
            }
        }
    };
}

pub(super) use {search_methods, shared_methods};
