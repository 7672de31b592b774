//! The fields of a URL's query, or of a form, for the paths outside of RPCs.

use std::collections::BTreeMap;

use http::Uri;
use pinpoint_core::api::Timestamp;
use tonic::Status;

use crate::api::grpc::errors;

/// Milliseconds of a day.
pub(crate) const DAY: i64 = 24 * 60 * 60 * 1000;

/// The fields, each of them once.
#[derive(Debug)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads those of an address; a field that is given twice is an error.
    pub(crate) fn from_uri(uri: &Uri) -> Result<Self, Status> {
        Self::read(uri.query().unwrap_or_default().as_bytes())
    }

    /// Reads those of a form, which has the same shape.
    pub(crate) fn read(text: &[u8]) -> Result<Self, Status> {
        let mut fields = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(text).into_owned() {
            if fields.contains_key(&name) {
                return Err(errors::field(&name, "it is given twice"));
            }
            fields.insert(name, value);
        }
        Ok(Self(fields))
    }

    /// Takes a field, without the blanks around it; absent if it is empty.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let value = self.0.remove(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

/// The beginning of a day, in milliseconds since 1970.
pub(crate) fn day(text: &str) -> Option<i64> {
    let digits = text.split('-').map(|part| match part {
        part if part.bytes().all(|byte| byte.is_ascii_digit()) => part.len(),
        _ => 0,
    });
    if !digits.eq([4, 2, 2]) {
        return None;
    }
    let begin: Timestamp = format!("{text}T00:00:00Z").parse().ok()?;
    Some(begin.seconds * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_there_once() {
        let of = |text: &str| Query::from_uri(&format!("/a?{text}").parse().unwrap());
        let mut query = of("a=+b%2Bc&d=&e=+").unwrap();
        assert_eq!(query.take("a").as_deref(), Some("b+c"));
        for absent in ["a", "d", "e", "f"] {
            assert_eq!(query.take(absent), None);
        }
        assert!(of("a=1&a=1").is_err());
        assert!(of("a=1&%61=").is_err());
    }
}
