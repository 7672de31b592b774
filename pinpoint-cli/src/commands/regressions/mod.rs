//! `pinpoint regressions`: what was found, and what people say of it.

mod bisect;
mod by_hand;
mod clusters;
mod list;
mod names;

use crate::arguments::{Display, Regressions};
use crate::error::CliError;

pub(crate) async fn run(command: Regressions, display: &Display) -> Result<u8, CliError> {
    match command {
        Regressions::List(arguments) => list::run(&arguments, display).await,
        Regressions::Show { dataset, name } => list::show(&dataset, &name, display).await,
        Regressions::Bisect(arguments) => bisect::run(&arguments, display).await,
        Regressions::Clusters { dataset, alert } => clusters::list(&dataset, alert, display).await,
        command => by_hand::run(command, display).await,
    }
}
