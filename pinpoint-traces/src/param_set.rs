//! All parameters of many traces.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::TraceId;

/// The values of each key that occur among traces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ParamSet(BTreeMap<String, BTreeSet<String>>);

impl ParamSet {
    /// Adds one value of a key.
    pub fn insert(&mut self, key: &str, value: &str) {
        match self.0.get_mut(key) {
            Some(values) if values.contains(value) => {}
            Some(values) => {
                values.insert(value.to_owned());
            }
            None => {
                let values = BTreeSet::from([value.to_owned()]);
                self.0.insert(key.to_owned(), values);
            }
        }
    }

    /// Adds the parameters of a trace.
    pub fn add(&mut self, trace: &TraceId) {
        for (key, value) in trace.iter() {
            self.insert(key, value);
        }
    }

    /// Adds all that another set has.
    pub fn merge(&mut self, other: Self) {
        for (key, values) in other.0 {
            self.0.entry(key).or_default().extend(values);
        }
    }

    /// The keys, ascending.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The values of a key, ascending; `None` for a key that no trace has.
    pub fn values(&self, key: &str) -> Option<&BTreeSet<String>> {
        self.0.get(key)
    }

    /// Keys and their values, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        self.0.iter().map(|(key, values)| (&**key, values))
    }

    /// Returns true without any key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> FromIterator<&'a TraceId> for ParamSet {
    fn from_iter<I: IntoIterator<Item = &'a TraceId>>(traces: I) -> Self {
        let mut set = Self::default();
        for trace in traces {
            set.add(trace);
        }
        set
    }
}
