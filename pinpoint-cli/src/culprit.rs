//! `pinpoint culprit`: from arguments to a job.

use pinpoint_core::{CULPRIT_FINDER_SPEC_VERSION, CulpritFinderSpec, JobMachine};

use crate::arguments::{Culprit, Display};
use crate::bisect::Search;
use crate::command_line;
use crate::error::CliError;
use crate::job::Session;
use crate::job_result::{exit_code, print_result};
use crate::new_job::store_job;
use crate::storage::Storage;

pub(crate) async fn run(arguments: Culprit, display: Display) -> Result<u8, CliError> {
    let Culprit { bisect, pairs } = arguments;
    let command_line = command_line::of_this_process(&bisect.good, &bisect.bad);
    let search = Search::new(bisect, command_line)?;
    let spec = CulpritFinderSpec {
        version: CULPRIT_FINDER_SPEC_VERSION,
        bisection: search.spec.clone(),
        pairs,
    };
    // A spec that can't be searched is refused before anything is written.
    JobMachine::new(spec.clone())?;
    let storage = Storage::open(&display).await?;
    let config = search.config(&storage)?;
    search.prior.say(&display);
    let id = store_job(&storage, spec, &config, search.names).await?;
    let result = Session::take(&storage, &id).await?.run(&display).await?;
    print_result(&result, &display);
    Ok(exit_code(&result))
}
