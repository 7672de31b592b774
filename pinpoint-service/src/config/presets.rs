//! `[[presets]]`: arguments that the form of a new job can begin with.

use serde::Deserialize;

use super::error::ConfigError;

/// The most attempts that a form takes.
pub(crate) const MOST_ATTEMPTS: u32 = 150;

/// Arguments that the form of a new job begins with, under a name that is a link of the form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The name.
    pub name: String,
    /// The kind of job.
    #[serde(default)]
    pub kind: PresetKind,
    /// The benchmark.
    pub benchmark: String,
    /// The bot.
    pub bot: String,
    /// The story of the benchmark.
    #[serde(default)]
    pub story: String,
    /// The metric.
    #[serde(default)]
    pub chart: String,
    /// The smallest change worth finding, as `2.5` or `5%`.
    #[serde(default)]
    pub magnitude: String,
    /// The runs of each end, or pairs of runs.
    #[serde(default)]
    pub attempts: Option<u32>,
}

/// The kind of job that a preset is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PresetKind {
    /// Finds the commit of a change.
    Bisection,
    /// Compares two commits.
    #[default]
    Try,
    /// Verifies a change, finds its commit, and verifies that.
    Culprit,
}

/// Checks what can be checked without the bots.
pub(super) fn check(presets: &[Preset]) -> Result<(), ConfigError> {
    for (place, preset) in presets.iter().enumerate() {
        let field = |name: &str| format!("presets.{}.{name}", preset.name);
        let earlier = &presets[..place];
        if preset.name.trim().is_empty() || earlier.iter().any(|it| it.name == preset.name) {
            let problem = "has to be there, and once";
            return Err(ConfigError::field(&field("name"), problem));
        }
        let attempts = preset.attempts;
        if attempts.is_some_and(|attempts| !(1..=MOST_ATTEMPTS).contains(&attempts)) {
            let problem = "lies between 1 and 150";
            return Err(ConfigError::field(&field("attempts"), problem));
        }
    }
    Ok(())
}
