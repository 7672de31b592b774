//! The collection of points out of one file.

use std::collections::{BTreeMap, HashSet};

use super::error::{ResultFault, ResultFileError};
use super::place::{Step, place_of};
use crate::id::{IdError, Params, TraceId, sanitized};
use crate::missing::from_exchange;
use crate::points::{CommitName, Links, Point, ResultFile, Try};
use crate::source::Source;

/// Parameters as a file has them, and as they are written.
pub(super) struct Base<'a> {
    given: BTreeMap<&'a str, &'a str>,
    params: Params,
}

impl<'a> Base<'a> {
    pub(super) fn new(given: BTreeMap<&'a str, &'a str>) -> Result<Self, IdError> {
        let params = Params::new(&given)?;
        Ok(Self { given, params })
    }

    /// The fault of another key that becomes equal to this one.
    fn same_key(&self, key: &str) -> Option<IdError> {
        let written = sanitized(key);
        if self.given.contains_key(key) || self.params.get(&written).is_none() {
            return None;
        }
        let first = self.given.keys().find(|it| sanitized(it) == written)?;
        Some(IdError::SameKey {
            first: (*first).to_owned(),
            second: key.to_owned(),
            written,
        })
    }
}

/// The points of a file, and the document for messages.
pub(super) struct Collector<'a> {
    file: ResultFile,
    text: &'a str,
    seen: HashSet<TraceId>,
}

impl<'a> Collector<'a> {
    /// Begins with what both forms have at the top. `commit_member` is the name of the member that
    /// names the commit.
    pub(super) fn new(
        source: Source,
        text: &'a str,
        commit_member: &str,
        commit: &str,
        key: &BTreeMap<String, String>,
    ) -> Result<Self, ResultFileError> {
        let fail = |member, fault| ResultFileError {
            path: source.path.clone(),
            place: Some(Box::new(place_of(text, &[Step::Name(member)]))),
            fault,
        };
        let commit = CommitName::read(commit)
            .map_err(|error| fail(commit_member, ResultFault::Commit(error)))?;
        let key = Params::new(key).map_err(|error| fail("key", ResultFault::Id(error)))?;
        Ok(Self {
            file: ResultFile {
                source,
                commit,
                tried: None,
                key,
                links: Links::new(),
                points: Vec::new(),
                samples: BTreeMap::new(),
            },
            text,
            seen: HashSet::new(),
        })
    }

    /// Notes the change under review, if the file has one.
    pub(super) fn set_try(&mut self, issue: Option<String>, patchset: Option<String>) {
        // Tools write 0 or an empty text where there is no change.
        let issue = issue.filter(|it| !it.is_empty() && it != "0");
        self.file.tried = issue.map(|issue| Try {
            issue,
            patchset: patchset.unwrap_or_default(),
        });
    }

    pub(super) fn set_links(&mut self, links: Links) {
        self.file.links = links;
    }

    /// An error at this place.
    pub(super) fn fail(&self, path: &[Step<'_>], fault: ResultFault) -> ResultFileError {
        ResultFileError {
            path: self.file.source.path.clone(),
            place: Some(Box::new(place_of(self.text, path))),
            fault,
        }
    }

    /// Adds a value of the trace with these parameters, and one more if there is one. Returns the
    /// trace.
    pub(super) fn add(
        &mut self,
        base: &Base<'_>,
        more: Option<(&str, &str)>,
        value: f64,
        links: Links,
        path: &[Step<'_>],
    ) -> Result<TraceId, ResultFileError> {
        let trace = match more {
            None => TraceId::new(&base.params),
            Some((key, value)) => match base.same_key(key) {
                Some(error) => Err(error),
                None => Ok(TraceId::with(&base.params, key, value)),
            },
        };
        let trace = trace.map_err(|error| self.fail(path, ResultFault::Id(error)))?;
        if !self.seen.insert(trace.clone()) {
            return Err(self.fail(path, ResultFault::Duplicate(trace)));
        }
        let value = from_exchange(value);
        if !value.is_nan() {
            self.file.points.push(Point {
                trace: trace.clone(),
                value,
                links,
            });
        }
        Ok(trace)
    }

    /// Keeps the measurements behind a value.
    pub(super) fn add_samples(&mut self, trace: TraceId, samples: Vec<f64>) {
        self.file.samples.insert(trace, samples);
    }

    pub(super) fn finish(self) -> Result<ResultFile, ResultFileError> {
        if self.seen.is_empty() {
            return Err(self.fail(&[Step::Name("results")], ResultFault::NoResults));
        }
        Ok(self.file)
    }
}
