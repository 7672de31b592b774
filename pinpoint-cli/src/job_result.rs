//! What a job ended with, whatever its kind.

use pinpoint_backends::store::Job;
use pinpoint_core::JobState;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::{Display, Output};
use crate::culprit_document::CulpritDocument;
use crate::document::Document;
use crate::error::{exit_code, exit_code_of_pairwise};
use crate::job::{state_of, state_of_pairwise};
use crate::kind::Kind;
use crate::output::{print, print_json};
use crate::pairwise_document::PairwiseDocument;
use crate::text::Text;
use crate::{culprit_summary, pairwise_summary, summary};

/// The document of a job, as `--output json` prints it and the store keeps it.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum JobResult {
    Bisection(Document),
    Pairwise(PairwiseDocument),
    CulpritFinder(Box<CulpritDocument>),
}

impl JobResult {
    /// The result that a job ended with, if it has.
    pub(crate) fn stored(job: &Job) -> Option<Self> {
        fn read<T: DeserializeOwned>(outcome: Value) -> Option<T> {
            serde_json::from_value(outcome).ok()
        }
        let outcome = job.outcome.clone()?;
        match Kind::of(job)? {
            Kind::Bisection => read(outcome).map(Self::Bisection),
            Kind::Pairwise => read(outcome).map(Self::Pairwise),
            Kind::CulpritFinder => read(outcome).map(Self::CulpritFinder),
        }
    }

    pub(crate) fn state(&self) -> JobState {
        match self {
            Self::Bisection(document) => state_of(document.status),
            Self::Pairwise(document) => state_of_pairwise(document.status),
            Self::CulpritFinder(document) => state_of(document.search.status),
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Bisection(document) => exit_code(document.status),
            Self::Pairwise(document) => exit_code_of_pairwise(document.status),
            Self::CulpritFinder(document) => exit_code(document.search.status),
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        // Every key is a string and every number finite: this can't fail.
        serde_json::to_value(self).unwrap_or(Value::Null)
    }

    /// Prints the result on standard output.
    pub(crate) fn print(&self, display: &Display) {
        match display.output {
            Output::Json => {
                print_json(serde_json::to_string_pretty(self).unwrap_or_default());
            }
            Output::Text => print(format_args!("{}", self.summary(display))),
        }
    }

    fn summary(&self, display: &Display) -> Text {
        match self {
            Self::Bisection(document) => summary::of(document, display),
            Self::Pairwise(document) => pairwise_summary::of(document, display),
            Self::CulpritFinder(document) => culprit_summary::of(document, display),
        }
    }
}
