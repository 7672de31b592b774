//! V8's sampler in all processes of Node.js.
//!
//! `--cpu-prof` is not allowed in `NODE_OPTIONS` by all versions, and a benchmark is often started
//! by npm or a script. A module that is loaded before the program is allowed everywhere
//! (`--require`). In each process it starts the same sampler through the documented module
//! `inspector`, and starts each worker with `--cpu-prof`: only Node.js itself can write the profile
//! of a worker that is terminated, as pools of workers do.

use std::path::Path;
use std::process::Command;

use crate::process::environment::value_for;

/// The name of the module.
pub(super) const HOOK: &str = "hook.cjs";

const VARIABLE: &str = "NODE_OPTIONS";

/// Two samples in a millisecond. The profile is written when the process or the worker ends. A
/// signal that ends the process waits for that, unless the program itself handles it.
pub(super) const SCRIPT: &str = r"'use strict';
const { writeFileSync } = require('fs');
const { Session } = require('inspector');
const { syncBuiltinESMExports } = require('module');
const { join } = require('path');
const threads = require('worker_threads');

const INTERVAL = 500;
const OPTIONS = ['--cpu-prof', `--cpu-prof-dir=${__dirname}`, `--cpu-prof-interval=${INTERVAL}`];

threads.Worker = class Worker extends threads.Worker {
  constructor(file, options) {
    const given = (options && options.execArgv) || process.execArgv;
    const others = given.filter((option) => !option.startsWith('--cpu-prof'));
    super(file, { ...options, execArgv: [...others, ...OPTIONS] });
  }
};
syncBuiltinESMExports();

if (threads.isMainThread) {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: INTERVAL });
  session.post('Profiler.start');
  const write = () => {
    session.post('Profiler.stop', (error, stopped) => {
      if (error) return;
      const file = join(__dirname, `${process.pid}.cpuprofile`);
      writeFileSync(file, JSON.stringify(stopped.profile));
    });
  };
  process.once('exit', write);
  for (const signal of ['SIGINT', 'SIGTERM']) {
    const end = () => {
      if (process.listenerCount(signal) > 1) return;
      process.off(signal, end);
      write();
      process.kill(process.pid, signal);
    };
    process.on(signal, end);
  }
}
";

pub(super) fn set_environment(place: &Path, command: &mut Command) {
    let before = value_for(command, VARIABLE);
    let before = before.as_ref().map(|before| before.to_string_lossy());
    command.env(VARIABLE, options(&place.join(HOOK), before.as_deref()));
}

/// The user's options, and ours.
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

    /// A worker and a process that are ended while they wait, each after some work.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test waits for Node.js")]
    fn what_is_ended_by_others_leaves_its_profile() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("bench.mjs");
        let written = [
            (place.path().join(HOOK), SCRIPT),
            (program.clone(), BENCHMARK),
        ];
        for (path, text) in written {
            std::fs::write(path, text).unwrap();
        }
        for (ending, function) in [
            ("terminate", "inWorker"),
            ("exit", "inWorker"),
            ("kill", "inChild"),
        ] {
            let mut command = Command::new("node");
            command.arg(&program).arg(ending);
            set_environment(place.path(), &mut command);
            let ended = command.output().unwrap();
            let said = String::from_utf8_lossy(&ended.stdout);
            assert!(said.contains("ended"), "{ending}: {ended:?}");
            let mut found = 0;
            for path in super::super::recording::all_in(place.path()).unwrap() {
                if path.extension().is_some_and(|it| it == "cpuprofile") {
                    let profile = std::fs::read_to_string(&path).unwrap();
                    found += usize::from(profile.contains(function));
                    std::fs::remove_file(path).unwrap();
                }
            }
            assert_eq!(found, 1, "{ending}");
        }
    }

    const BENCHMARK: &str = "
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';

function work() {
  let total = 0;
  for (let word = 0; word < 5e6; word++) total = (total * 31 + word) % 1000003;
  return total;
}
function inWorker() { return work(); }
function inChild() { return work(); }

const file = fileURLToPath(import.meta.url);
const ending = process.argv[2];
if (!isMainThread) {
  parentPort.postMessage(inWorker());
  setInterval(() => {}, 1000);
} else if (ending === 'child') {
  process.send(inChild());
  setInterval(() => {}, 1000);
} else if (ending === 'kill') {
  const child = fork(file, ['child']);
  child.on('message', () => child.kill());
  child.on('exit', (code, signal) => console.log('ended', signal));
} else {
  const worker = new Worker(file);
  worker.on('message', () => {
    if (ending === 'terminate') worker.terminate();
    console.log('ended');
    if (ending === 'exit') process.exit(0);
  });
}
";
}
