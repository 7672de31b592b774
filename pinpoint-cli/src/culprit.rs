//! `pinpoint culprit`: from arguments to a job.

use pinpoint_core::{CULPRIT_FINDER_SPEC_VERSION, CulpritFinder, CulpritFinderSpec};

use crate::arguments::{Culprit, Display};
use crate::bisect::Search;
use crate::error::CliError;
use crate::job::{CommandLine, Session};
use crate::kind::Kind;
use crate::new_job::store_job;
use crate::storage::Storage;

pub(crate) async fn run(arguments: Culprit, display: Display) -> Result<u8, CliError> {
    let Culprit { bisect, pairs } = arguments;
    let command_line = CommandLine::of_this_process(&bisect.good, &bisect.bad);
    let search = Search::new(bisect, command_line)?;
    let spec = CulpritFinderSpec {
        version: CULPRIT_FINDER_SPEC_VERSION,
        bisection: search.spec.clone(),
        pairs,
    };
    // A spec that can't be searched is refused before there is a job.
    CulpritFinder::new(spec.clone())?;
    let storage = Storage::open(&display).await?;
    let config = search.config(&storage)?;
    let id = store_job(&storage, Kind::CulpritFinder, &spec, &config, search.names).await?;
    let result = Session::take(&storage, &id).await?.run(&display).await?;
    result.print(&display);
    Ok(result.exit_code())
}
