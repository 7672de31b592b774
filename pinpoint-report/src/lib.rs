//! The report on a job: one self-contained HTML file.
//!
//! [`report`] collects the facts about a job from the store, the state directory and git; the page
//! is a pure function of them. Nothing in it is fetched: style, script, pictures and logs are in
//! the file, and its content security policy forbids the rest. Without scripts, or printed,
//! everything can be read except the table of the single runs with their logs, which is unpacked on
//! demand.
//!
//! The report on an [explanation](profile), with flame graphs, is another page by the same rules, and
//! so is that on the [changes](changes_page) in histories of values.
//!
//! Its [pictures](picture), [words] and [numbers](quantity) are for other pages and for a terminal,
//! too, so that all of them show the same thing in the same way. Foreign text gets into a page as
//! [`Foreign`].

#![forbid(unsafe_code)]

mod about;
mod answer;
mod builds;
mod changes;
pub mod command_line;
mod error;
pub mod findings;
mod foreign;
mod gather;
pub mod heat_map;
mod link;
mod measurements;
mod median_interval;
mod model;
mod pack;
mod page;
mod pairs;
pub mod picture;
mod posterior;
pub mod profile;
pub mod quantity;
mod report;
pub mod results;
mod runs;
mod search;
pub mod text;
pub mod words;

pub use answer::{Conclusion, of_result};
pub use changes::{ChangedSeries, DetectedChanges, changes_page};
pub use error::ReportError;
pub use foreign::{Foreign, clean};
pub use link::commit_page;
pub use measurements::{ChartValues, MeasuredCommit, Measurements, Pair, Run};
pub use page::content_security_policy;
pub use pairs::chart_pictures;
pub use report::{report, report_explained};
pub use search::{commit_name, measured, subject};
