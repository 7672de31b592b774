//! The environment of builds and runs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The date that tools write in place of the present, see reproducible-builds.org.
const SOURCE_DATE_EPOCH: &str = "SOURCE_DATE_EPOCH";

/// The first of January 1980, in seconds: older ones are not possible in every format.
const FIXED_DATE: &str = "315532800";

/// The variables that every build and every run of a job gets.
pub(crate) struct Environment {
    /// The variables of this process, taken once so that they are the same for all commands.
    inherited: Vec<(OsString, OsString)>,
    job: String,
    declared: BTreeMap<String, String>,
    /// Leaves out variables by which equal commits could differ.
    alike: bool,
}

impl Environment {
    pub(crate) fn new(job: String, declared: BTreeMap<String, String>, alike: bool) -> Self {
        let is_inherited = |name: &OsString| {
            // Ours would be those of a Pinpoint that runs this one.
            !is_gits(name) && !name.as_encoded_bytes().starts_with(b"PINPOINT_")
        };
        Self {
            inherited: std::env::vars_os()
                .filter(|(name, _)| is_inherited(name))
                .collect(),
            job,
            declared,
            alike,
        }
    }

    /// The variables that are text, with those of the job last.
    pub(crate) fn readable(&self) -> Vec<(String, String)> {
        let text = |text: &OsString| text.to_str().map(str::to_owned);
        let inherited = self.inherited.iter();
        let inherited = inherited.filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        let is_declared = |name: &String| self.declared.contains_key(name);
        let declared = self.declared.clone();
        (inherited.filter(|(name, _)| !is_declared(name)))
            .chain(declared)
            .collect()
    }

    /// Sets it for a command on a commit, where the commit is known.
    pub(crate) fn set(&self, command: &mut Command, hash: Option<&str>) {
        // By name, and not all at once, which `child::execute` could not detect.
        for (name, _) in std::env::vars_os() {
            if !self.inherited.iter().any(|(kept, _)| *kept == name) {
                command.env_remove(name);
            }
        }
        command
            .envs(self.inherited.iter().map(|(name, value)| (name, value)))
            .env("PINPOINT_JOB", &self.job)
            .envs(&self.declared);
        if self.alike {
            let is_set = |(name, _): &(OsString, OsString)| name == SOURCE_DATE_EPOCH;
            if !self.inherited.iter().any(is_set) && !self.declared.contains_key(SOURCE_DATE_EPOCH)
            {
                command.env(SOURCE_DATE_EPOCH, FIXED_DATE);
            }
        } else if let Some(hash) = hash {
            command.env("PINPOINT_COMMIT", hash);
        }
    }
}

/// Checks whether the variable determines where or how git works.
pub(crate) fn is_gits(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"GIT_")
}

/// A variable's value for a command: options of the job before those of this process.
pub(crate) fn value_for(command: &Command, variable: &str) -> Option<OsString> {
    let set = { command.get_envs() }.filter(|(name, _)| *name == variable);
    match set.last() {
        Some((_, value)) => value.map(OsStr::to_owned),
        None => std::env::var_os(variable),
    }
}
