//! Several jobs at the same time.

use std::collections::BTreeSet;
use std::fs;

use crate::world::{World, until};

#[test]
fn jobs_on_one_repository_do_not_disturb_each_other() {
    let world = World::with_step(16, 9);
    let log = world.path("log");
    let before = world.snapshot();
    // The kernel determines the end of a file for each append: the order of the lines is
    // the order of events.
    let tell = |what: &str| format!("echo \"{what} $$ $PINPOINT_JOB\" >> {}", log.display());
    let build = format!(
        "{}; cp value built; sleep 0.05; {}",
        tell("begin build"),
        tell("end build")
    );
    let script = format!(
        "{}; sleep 0.02; echo \"v: $(cat built) ms\"; {}",
        tell("begin run"),
        tell("end run")
    );
    let options = ["--build", &build, "--build-jobs", "2", "--output", "json"];
    let start = |state: &str| {
        world
            .bisect(&options, &script)
            .env("XDG_STATE_HOME", world.path(state))
            .start()
    };
    let first = start("state");
    until("the first run", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("begin run"))
    });
    let others = [start("state"), start("elsewhere")];
    for job in std::iter::once(first).chain(others) {
        let document = job.ends_with(0).document();
        let culprits = document["culprits"].as_array().unwrap();
        assert_eq!(culprits.len(), 1, "{document}");
        assert_eq!(culprits[0]["commit"]["main"]["git_hash"], *world.commits[9]);
    }
    assert_eq!(world.snapshot(), before);

    let log = fs::read_to_string(&log).unwrap();
    let mut builds = BTreeSet::new();
    let mut running = None;
    let mut at_work = Vec::new();
    for line in log.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [edge, kind, process, job] = words[..] else {
            panic!("{line}");
        };
        match (edge, kind) {
            ("begin", "build") => {
                assert_eq!(running, None, "{line}: a build beside a run\n{log}");
                builds.insert(process);
            }
            ("begin", _) => {
                assert_eq!(running, None, "{line}: a run beside a run\n{log}");
                assert!(builds.is_empty(), "{line}: a run beside a build\n{log}");
                running = Some(process);
                at_work.push(job);
            }
            (_, "build") => assert!(builds.remove(process), "{line}"),
            _ => assert_eq!(running.take(), Some(process), "{line}"),
        }
    }
    let jobs: BTreeSet<&str> = at_work.iter().copied().collect();
    assert_eq!(jobs.len(), 3);
    at_work.dedup();
    assert!(at_work.len() > 3, "they were at work at the same time");
}
