//! Members that say something of a job, and have no other meaning here.

use std::collections::BTreeMap;

use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::results::document::Entries;

/// The members of an object, as they stand there: they differ from harness to harness, and none of
/// them is lost. Without any it is as good as not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Details(pub BTreeMap<String, Value>);

impl Details {
    /// Returns true if there is no member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of a member. Numbers and truth values are written as in JSON; lists, objects and
    /// `null` have no text.
    pub fn text(&self, name: &str) -> Option<String> {
        scalar(self.0.get(name)?)
    }
}

pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl<'de> Deserialize<'de> for Details {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = BTreeMap::new();
        Entries::new(|name, value| {
            members.insert(name.into_owned(), value);
        })
        .deserialize(deserializer)?;
        Ok(Self(members))
    }
}
