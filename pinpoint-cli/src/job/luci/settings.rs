//! Words and settings that all commands for LUCI share.

use std::path::Path;

use pinpoint_backends::luci::LuciSettings;

use crate::error::CliError;

/// The name of the newest commit that is built already, as Crossbench's `cb.py pinpoint` has it.
pub(super) const RECENT: &str = "recent";

/// The settings in a file, or those of Chromium's Pinpoint.
pub(super) fn settings(file: Option<&Path>) -> Result<LuciSettings, CliError> {
    let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) else {
        return Ok(LuciSettings::default());
    };
    let text = std::fs::read_to_string(file).map_err(|error| {
        CliError::Input(format!(
            "can't read the settings of LUCI {}: {error}",
            file.display()
        ))
    })?;
    toml::from_str(&text).map_err(|error| {
        CliError::Input(format!(
            "the settings of LUCI in {} can't be used: {error}",
            file.display()
        ))
    })
}
