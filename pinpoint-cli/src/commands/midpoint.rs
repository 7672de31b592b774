//! `pinpoint midpoint`: the states between two commits.

use std::sync::Arc;

use pinpoint_backends::local::{LocalRepositories, Repository};
use pinpoint_core::{CombinedCommit, DependencyChange};
use pinpoint_midpoint::{Between, Midpoints};
use pinpoint_report::words::line;
use serde::Serialize;

use crate::arguments::{Display, Midpoint, Output, StateArgument};
use crate::error::CliError;
use crate::exit_code::{FOUND, NO_DIFFERENCE};
use crate::job::storage::state_dir;
use crate::show::output::{outln, print_json};
use crate::show::summary::dependency_change;
use crate::show::text::{BOLD, DIM};

/// The document that `--output json` prints.
#[derive(Debug, Serialize)]
struct Document {
    lower: CombinedCommit,
    higher: CombinedCommit,
    /// States strictly between the ends.
    count: u64,
    /// The common ancestor, if neither end is part of the other's history. The states go back to it
    /// from the lower end, and from there to the higher end.
    #[serde(skip_serializing_if = "Option::is_none")]
    merge_base: Option<CombinedCommit>,
    /// The one in the middle, if any.
    midpoint: Option<CombinedCommit>,
    /// All of them, oldest first, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    between: Option<Vec<CombinedCommit>>,
    /// The dependencies that the ends hold at different revisions.
    changes: Vec<DependencyChange>,
}

pub(crate) async fn run(arguments: Midpoint, display: Display) -> Result<u8, CliError> {
    let repository = Repository::discover(&arguments.repo)?;
    let repositories = LocalRepositories::new(
        repository.clone(),
        arguments.repository,
        &state_dir(&display)?,
    );
    let names = repositories.clone();
    let midpoints = Midpoints::new(Arc::new(repositories));
    let lower = state(&repository, &midpoints, &arguments.lower).await?;
    let higher = state(&repository, &midpoints, &arguments.higher).await?;
    midpoints.check_order(&lower, &higher).await?;
    let between = midpoints.between(&lower, &higher).await?;
    let merge_base = match between.merge_base() {
        Some(offset) => {
            let state = midpoints.nth(&between, offset).await?;
            Some(names.describe(state).await?)
        }
        None => None,
    };
    let midpoint = match between.count().checked_sub(1) {
        None => None,
        Some(last) => Some(
            names
                .describe(midpoints.nth(&between, last / 2).await?)
                .await?,
        ),
    };
    let all = if arguments.all {
        Some(all(&midpoints, &names, &between).await?)
    } else {
        None
    };
    let document = Document {
        lower: names.describe(lower).await?,
        higher: names.describe(higher).await?,
        count: between.count(),
        merge_base,
        midpoint,
        between: all,
        changes: between.changes().to_vec(),
    };
    match display.output {
        Output::Json => {
            print_json(serde_json::to_string_pretty(&document).unwrap_or_default());
        }
        Output::Text => document.print(),
    }
    Ok(if document.midpoint.is_some() {
        FOUND
    } else {
        NO_DIFFERENCE
    })
}

/// A commit of the repository, with the requested dependencies.
async fn state(
    repository: &Repository,
    midpoints: &Midpoints,
    argument: &StateArgument,
) -> Result<CombinedCommit, CliError> {
    let mut state = CombinedCommit::from(repository.resolve_revision(&argument.main)?);
    for (dependency, revision) in &argument.held {
        state = midpoints.hold(&state, dependency, revision).await?;
    }
    Ok(state)
}

async fn all(
    midpoints: &Midpoints,
    names: &LocalRepositories,
    between: &Between,
) -> Result<Vec<CombinedCommit>, CliError> {
    let mut states = Vec::new();
    for offset in 0..between.count() {
        states.push(
            names
                .describe(midpoints.nth(between, offset).await?)
                .await?,
        );
    }
    Ok(states)
}

impl Document {
    fn print(&self) {
        outln!("{DIM}lower{DIM:#}     {}", line(&self.lower));
        if let Some(base) = &self.merge_base {
            outln!("{DIM}back to{DIM:#}   {}, which both come from", line(base));
        }
        match &self.midpoint {
            Some(midpoint) => {
                outln!("{BOLD}midpoint{BOLD:#}  {}", line(midpoint));
            }
            None => outln!(
                "{BOLD}nothing{BOLD:#} lies between: any difference is due to the higher one"
            ),
        }
        outln!("{DIM}higher{DIM:#}    {}", line(&self.higher));
        if let Some(states) = &self.between {
            outln!("\nall {} between, from the lower one on", self.count);
            for state in states {
                outln!("  {}", line(state));
            }
        } else if self.count > 0 {
            outln!("{DIM}{} between{DIM:#}", self.count);
        }
        if !self.changes.is_empty() {
            outln!("\nrolled dependencies, by path");
            for change in &self.changes {
                outln!("  {}", dependency_change(change));
            }
        }
    }
}
