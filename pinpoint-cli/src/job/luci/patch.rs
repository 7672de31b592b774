//! Patch sets by their names at Gerrit.

use std::path::Path;
use std::sync::Arc;

use pinpoint_backends::gerrit::{ChangeName, Gerrit};
use pinpoint_backends::google::{TokenSource, Web};
use pinpoint_core::Patch;

use crate::error::{CliError, refused};

/// The change or the patch set that `--patch` names.
pub(super) fn at_gerrit(name: &Path) -> Result<ChangeName, CliError> {
    let name = name.to_string_lossy().parse();
    name.map_err(|error| CliError::Input(format!("--patch: {error}")))
}

/// The patch set itself. Gerrit is asked only for what the name leaves open.
pub(super) async fn looked_up(
    name: &ChangeName,
    address: &str,
    source: &TokenSource,
) -> Result<Patch, CliError> {
    if let Some(patch) = name.patch() {
        return Ok(patch);
    }
    let web = Arc::new(Web::new().map_err(refused)?);
    let gerrit = Gerrit::new(address, &name.host, source, web);
    let patch = gerrit.map_err(refused)?.patch(name).await;
    patch.map_err(|error| CliError::Input(format!("--patch: {error}")))
}
