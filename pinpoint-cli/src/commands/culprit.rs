//! `pinpoint culprit`: from arguments to a job.

use crate::arguments::{Culprit, Display};
use crate::commands::bisect::Search;
use crate::error::CliError;
use crate::job::command_line;
use crate::job::luci;

pub(crate) async fn run(arguments: Culprit, display: Display) -> Result<u8, CliError> {
    let Culprit {
        bisect,
        pairs,
        callback,
    } = arguments;
    if bisect.job.assignment.in_luci() {
        return luci::bisect(bisect, Some((pairs, callback)), display).await;
    }
    let display = bisect.job.assignment.display(display);
    bisect.benchmark.say_where(&display);
    let command_line = command_line::of_this_process(&bisect.good, &bisect.bad);
    let search = Search::new(bisect, Some(pairs), command_line)?;
    search.end(&display).await
}
