//! V8's sampler in all processes of Node.js.
//!
//! `--cpu-prof` is not allowed in `NODE_OPTIONS` by all versions, and a benchmark is often
//! started by npm or a script. A module that is loaded before the program is allowed
//! everywhere (`--require`), and starts the same sampler through the documented module
//! `inspector`. It reaches every process and every worker.

use std::path::Path;
use std::process::Command;

/// The name of the module.
pub(super) const HOOK: &str = "hook.cjs";

const VARIABLE: &str = "NODE_OPTIONS";

/// Two samples in a millisecond. The profile is written when the process or the worker
/// ends.
pub(super) const SCRIPT: &str = r"'use strict';
const { Session } = require('inspector');
const { writeFileSync } = require('fs');
const { join } = require('path');
const { threadId } = require('worker_threads');

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.setSamplingInterval', { interval: 500 });
session.post('Profiler.start');
process.once('exit', () => {
  session.post('Profiler.stop', (error, stopped) => {
    if (error) return;
    const file = join(__dirname, `${process.pid}-${threadId}.cpuprofile`);
    writeFileSync(file, JSON.stringify(stopped.profile));
  });
});
";

pub(super) fn set_environment(place: &Path, command: &mut Command) {
    let is_ours = |(name, value): (&std::ffi::OsStr, Option<&std::ffi::OsStr>)| {
        (name == VARIABLE).then(|| value.map(|value| value.to_string_lossy().into_owned()))
    };
    // The last one counts: options of the job before those of this process.
    let set = command.get_envs().filter_map(is_ours).last();
    let before = match set {
        Some(value) => value,
        None => std::env::var(VARIABLE).ok(),
    };
    command.env(VARIABLE, options(&place.join(HOOK), before.as_deref()));
}

/// Those that the user has, and ours.
fn options(hook: &Path, before: Option<&str>) -> String {
    let quoted: String = (hook.to_string_lossy().chars())
        .flat_map(|c| {
            matches!(c, '"' | '\\')
                .then_some('\\')
                .into_iter()
                .chain([c])
        })
        .collect();
    let ours = format!("--require \"{quoted}\"");
    match before.filter(|before| !before.trim().is_empty()) {
        Some(before) => format!("{before} {ours}"),
        None => ours,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_user_stay() {
        let hook = Path::new("/a b/\"c\"/hook.cjs");
        let ours = r#"--require "/a b/\"c\"/hook.cjs""#;
        assert_eq!(options(hook, None), ours);
        assert_eq!(options(hook, Some(" ")), ours);
        let both = options(hook, Some("--max-old-space-size=99"));
        assert_eq!(both, format!("--max-old-space-size=99 {ours}"));
        let mut command = Command::new("node");
        command.env(VARIABLE, "--no-warnings");
        set_environment(Path::new("/p"), &mut command);
        let value = command.get_envs().find(|(name, _)| *name == VARIABLE);
        let value = value.and_then(|(_, value)| value).unwrap();
        assert_eq!(value, "--no-warnings --require \"/p/hook.cjs\"");
    }
}
