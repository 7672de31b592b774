//! The timelines of the runs in a report.

use pinpoint_core::profile::{EntryTree, Profile, ProfileFormat, Timeline};
use pinpoint_report::profile;

use super::explanation_report::ExplanationReport;
use super::profile_file::{content, is_read_once, refused};
use crate::advice::with_advice;
use crate::arguments::Display;
use crate::error::CliError;
use crate::show::reading::Reading;

/// Returns true if the format has times.
fn has_timeline(run: &Profile) -> bool {
    matches!(
        run.format,
        ProfileFormat::ChromeTrace | ProfileFormat::CpuProfile
    )
}

/// The timelines of a side for a report.
#[derive(Default)]
pub(super) struct Timelines {
    /// Of the run that is drawn.
    pub(super) drawn: Option<Timeline>,
    /// Of each run; empty where some run of either side has no timeline.
    pub(super) trees: Vec<EntryTree>,
}

impl ExplanationReport {
    /// The timelines of both sides. A note says which can't be read.
    pub(super) fn timelines(&self, notes: &mut Vec<String>, display: &Display) -> [Timelines; 2] {
        let mut sides = [Timelines::default(), Timelines::default()];
        let runs = self.profiles.iter().flatten();
        let files = runs.filter(|run| has_timeline(run)).count();
        let reading = Reading::begin("timelines", files, display);
        for (side, timelines) in sides.iter_mut().enumerate() {
            if let Err(error) = self.read_timelines(side, timelines, &reading) {
                timelines.trees.clear();
                let lost = match timelines.drawn {
                    Some(_) => "Events in the trees have no differences over all runs",
                    None => "The flame charts are made from samples only",
                };
                let why = with_advice(&error);
                notes.push(format!("{lost}, since a timeline can't be read: {why}"));
            }
        }
        sides
    }

    /// Reads the timelines of a side, first that of the drawn run; none of runs whose files have
    /// none, or that have several files.
    fn read_timelines(
        &self,
        side: usize,
        timelines: &mut Timelines,
        reading: &Reading,
    ) -> Result<(), CliError> {
        let (runs, files) = (&self.profiles[side], &self.files[side]);
        if runs.len() != files.len() {
            return Ok(());
        }
        let read = |place: usize| -> Result<Timeline, CliError> {
            reading.next();
            let path = &files[place];
            if is_read_once(path) {
                return Err(CliError::Input(format!(
                    "{} can be read once only; give a file",
                    path.display()
                )));
            }
            Timeline::read(&content(path)?).map_err(|source| refused(path, source))
        };
        let shown = profile::shown_run(runs).filter(|run| has_timeline(&runs[*run]));
        if let Some(run) = shown {
            timelines.drawn = Some(read(run)?);
        }
        if !self.profiles.iter().flatten().all(has_timeline) {
            return Ok(());
        }
        for (place, run) in runs.iter().enumerate() {
            let of_run;
            let timeline = match &timelines.drawn {
                Some(drawn) if shown == Some(place) => drawn,
                _ => {
                    of_run = read(place)?;
                    &of_run
                }
            };
            let tree = EntryTree::of(timeline, run, self.window.as_ref());
            let tree = tree.map_err(|source| refused(&files[place], source))?;
            timelines.trees.push(tree);
        }
        Ok(())
    }
}
