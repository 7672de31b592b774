//! An explanation as a part of the report on the job that it explains.

use maud::{Markup, html};
use pinpoint_core::profile::Explanation;

use super::{Job, answer, functions};
use crate::foreign::Foreign;

/// An explanation in the report on a job.
#[derive(Debug)]
pub struct Section<'a> {
    /// The answer.
    pub explanation: &'a Explanation,
    /// The job that made the profiles.
    pub job: Job<'a>,
    /// Remarks, in sentences without their period.
    pub notes: &'a [String],
    /// The name of the explanation's own file, in the directory of this report; absent where there
    /// is none.
    pub page: Option<&'a str>,
}

impl Section<'_> {
    pub(crate) fn markup(&self) -> Markup {
        html! {
            section #explanation {
                h2 { "Explanation" }
                p { strong { (Foreign(&answer(self.explanation, Some(self.job)))) "." } }
                @for line in self.job.about { p.facts { (Foreign(line)) } }
                (functions::certain(self.explanation))
                @for note in self.notes { p.note { (Foreign(note)) "." } }
                p.facts {
                    "Job " code { (self.job.id) }
                    @if let Some(page) = self.page {
                        ", with flame graphs in " a href=(address(page)) { (Foreign(page)) }
                    }
                }
            }
        }
    }
}

/// The relative address of a file in the directory of the page.
fn address(file: &str) -> String {
    // This way, a name with a colon has no scheme.
    let encoded = file.replace('%', "%25").replace('?', "%3F");
    format!("./{}", encoded.replace('#', "%23"))
}
