//! The profiles of a job's pairs of runs.
//!
//! A pair counts when the profiles of both of its runs can be read. Any other is left out with the
//! reason, like a pair with a failed run.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use pinpoint_backends::job::{MissingProfile, ProfilePair};
use pinpoint_core::profile::{Profile, ReadProfileError, Window};

use super::profile_file::read;
use crate::arguments::Display;
use crate::error::CliError;
use crate::show::reading::Reading;

/// The profiles of the pairs that count, a side each.
#[derive(Default)]
pub(super) struct ReadPairs {
    pub(super) profiles: [Vec<Profile>; 2],
    pub(super) files: [Vec<PathBuf>; 2],
    /// The reasons of pairs that were left out.
    reasons: Vec<LeftOut>,
}

/// The reason why a pair does not count.
pub(super) enum LeftOut {
    /// A run failed, or left nothing.
    Missing(MissingProfile),
    /// A profile can't be read.
    Unreadable(String),
    /// The window can't be cut out of it.
    Window(String),
}

impl LeftOut {
    /// The reason in words, in a job whose profiles may have so many bytes.
    pub(super) fn text(&self, most: ByteSize) -> String {
        match self {
            Self::Missing(MissingProfile::NoRoom) => {
                format!("the job's profiles have no more room; raise --keep-profiles ({most})")
            }
            Self::Missing(MissingProfile::Other(text))
            | Self::Unreadable(text)
            | Self::Window(text) => text.clone(),
        }
    }

    pub(super) fn is_no_room(&self) -> bool {
        matches!(self, Self::Missing(MissingProfile::NoRoom))
    }
}

impl ReadPairs {
    /// Reads them all. The reasons name the profiler.
    pub(super) fn read(
        pairs: &[ProfilePair],
        window: Option<&Window>,
        profiler: &str,
        display: &Display,
    ) -> Self {
        let mut all = Self::default();
        let reading = Reading::begin("pairs of profiles", pairs.len(), display);
        for (index, pair) in pairs.iter().enumerate() {
            reading.next();
            if !pair.is_whole() {
                all.reasons
                    .extend(pair.missing.clone().map(LeftOut::Missing));
                continue;
            }
            let number = index + 1;
            let of_run = |side, run| {
                let left = format!("the {side}'s run of pair {number} under {profiler} left");
                read_run(run, window).map_err(|problem| problem.left_out(&left))
            };
            let base = of_run("base", &pair.base);
            match base.and_then(|base| Ok([base, of_run("experiment", &pair.experiment)?])) {
                Ok(profiles) => all.add(pair, profiles),
                Err(reason) => all.reasons.push(reason),
            }
        }
        all
    }

    fn add(&mut self, pair: &ProfilePair, [base, experiment]: [Profile; 2]) {
        self.profiles[0].push(base);
        self.profiles[1].push(experiment);
        self.files[0].extend(pair.base.iter().cloned());
        self.files[1].extend(pair.experiment.iter().cloned());
    }

    /// The number of pairs that count.
    pub(super) fn count(&self) -> usize {
        self.profiles[0].len()
    }

    /// The reason of one that does not count.
    pub(super) fn reason(&self) -> Option<&LeftOut> {
        self.reasons.first()
    }

    /// The reason why the window can't be cut out of one of them.
    pub(super) fn window_problem(&self) -> Option<&str> {
        let mut reasons = self.reasons.iter();
        reasons.find_map(|reason| match reason {
            LeftOut::Window(text) => Some(text.as_str()),
            _ => None,
        })
    }
}

/// The reason why a run has no profile.
enum Problem {
    File(String),
    Profile(ReadProfileError),
    Window(ReadProfileError),
}

impl Problem {
    /// The reason for which the pair of a run is left out.
    fn left_out(self, run_left: &str) -> LeftOut {
        let problem = match self {
            Self::Window(error) => return LeftOut::Window(error.to_string()),
            // Its own message is for users who chose the files.
            Self::Profile(ReadProfileError::NotRecognized) => "it is of no known format".into(),
            Self::Profile(error) => error.to_string(),
            Self::File(error) => error,
        };
        LeftOut::Unreadable(format!("{run_left} no profile that can be read: {problem}"))
    }

    /// Returns true if other processes of the run may have the missing part.
    fn is_of_nothing(&self) -> bool {
        let (Self::Profile(error) | Self::Window(error)) = self else {
            return false;
        };
        matches!(
            error,
            ReadProfileError::NoSamples { .. }
                | ReadProfileError::NoSymbols { .. }
                | ReadProfileError::NoMark { .. }
                | ReadProfileError::Empty
        )
    }
}

/// The profile of one run: of all its processes. A process may have done too little to be
/// sampled, or nothing in the window.
fn read_run(files: &[PathBuf], window: Option<&Window>) -> Result<Profile, Problem> {
    let (mut profiles, mut empty) = (Vec::new(), None);
    for file in files {
        match read_process(file, window) {
            Ok(profile) => profiles.push(profile),
            Err(problem) if problem.is_of_nothing() => empty = Some(problem),
            Err(problem) => return Err(problem),
        }
    }
    match Profile::merged(profiles).map_err(Problem::Profile)? {
        Some(profile) => Ok(profile),
        None => Err(empty.unwrap_or(Problem::Profile(ReadProfileError::Empty))),
    }
}

fn read_process(file: &Path, window: Option<&Window>) -> Result<Profile, Problem> {
    let profile = read(file, None, None).map_err(|error| match error {
        CliError::Profile { source, .. } => Problem::Profile(*source),
        error => Problem::File(error.to_string()),
    })?;
    match window {
        Some(window) => profile.window(window).map_err(Problem::Window),
        None => Ok(profile),
    }
}
