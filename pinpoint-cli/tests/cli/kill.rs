//! A job that is killed or interrupted again and again, and comes to the same end.
//!
//! `PINPOINT_ATTACKS=1000` kills a thousand times, and `KILL_SEED` repeats a walk.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use libc::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
use serde_json::Value;

use crate::world::{Dice, Finished, Run, Running, World, attacks, processes_of};

/// The longest that it lives, in milliseconds.
const MAX_LIFE_MS: u64 = 500;

/// The scene of a test, with the places where the benchmark reports itself.
struct Scene {
    world: World,
    strategy: &'static str,
    /// The signals sent to the process, one of them at a time.
    signals: &'static [i32],
    dice: Dice,
    kills: usize,
    /// The most signals to send.
    most_kills: usize,
}

/// Executions of a job's benchmark that are to be counted, in their order.
fn executions(world: &World, job: &str) -> Vec<Run> {
    let log = fs::read_to_string(world.path("log")).unwrap_or_default();
    let of_job = log.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (Some(name), Some(commit), Some(run)) = (words.next(), words.next(), words.next())
        else {
            panic!("{line}");
        };
        let run = run.parse().ok()?;
        (name == job).then(|| (commit.to_owned(), run))
    });
    // The first one finds the metric: it is a run like the others, and not counted.
    of_job.skip(1).collect()
}

/// A document without its variable parts.
fn comparable(finished: &Finished) -> Value {
    let mut document = finished.document();
    let fields = document.as_object_mut().unwrap();
    for field in ["job_id", "duration_s"] {
        assert!(fields.remove(field).is_some(), "{field}\n{finished}");
    }
    document
}

impl Scene {
    /// An entirely new job: nothing was built for it before.
    fn begin(&self) -> Running {
        self.world.pinpoint(&["clean"]).ends_with(0);
        // A small step in noise that depends on commit and run alone, so that
        // ten runs do not always decide.
        let script = format!(
            "echo \"$PINPOINT_JOB $PINPOINT_COMMIT ${{PINPOINT_RUN-warm-up}}\" >> {}; sleep 0.01; \
             n=$(cat built); r=${{PINPOINT_RUN:-0}}; \
             echo \"v: $((n / 100 * 14 + (n * 31 + r * 37) % 41)) ms\"",
            self.world.path("log").display()
        );
        let options = ["--build", "cp value built", "--output", "json"];
        let strategy = ["--strategy", self.strategy];
        self.world
            .bisect(&[&options[..], &strategy[..]].concat(), &script)
            .start()
    }

    fn resume(&self, job: &str) -> Running {
        self.world
            .pinpoint(&["jobs", "resume", job, "--output", "json"])
            .start()
    }

    /// Sends the process a signal, unless it ends by itself before or there were kills enough.
    fn kill(&mut self, running: Running) -> Finished {
        if self.kills >= self.most_kills {
            return running.wait();
        }
        std::thread::sleep(Duration::from_millis(self.dice.below(MAX_LIFE_MS)));
        running.signal(*self.dice.one_of(self.signals));
        let finished = running.wait();
        self.kills += usize::from(finished.was_stopped());
        finished
    }

    fn newest(&self) -> Option<String> {
        Some(self.world.jobs().first()?["id"].as_str()?.to_owned())
    }

    /// One job, killed until it is finished nevertheless or there were kills
    /// enough. Nothing is returned for a job that was killed before it was created.
    fn job(&mut self) -> Option<(String, Finished)> {
        let before = self.newest();
        let kills_before = self.kills;
        let mut finished = {
            let running = self.begin();
            self.kill(running)
        };
        let job = self.newest().filter(|job| Some(job) != before.as_ref())?;
        let mut done = Vec::new();
        while finished.was_stopped() {
            if !finished.was_killed() {
                assert_eq!(processes_of(&job), [] as [String; 0], "{finished}");
            }
            let recorded = self.world.recorded_runs(&job);
            done.push((executions(&self.world, &job).len(), recorded));
            let running = self.resume(&job);
            finished = self.kill(running);
        }

        let journaled = self.world.recorded_runs(&job);
        let executed = executions(&self.world, &job);
        for (so_far, journaled) in done {
            let again: Vec<&Run> = executed[so_far..]
                .iter()
                .filter(|run| journaled.contains(run))
                .collect();
            assert!(again.is_empty(), "made again, though recorded: {again:?}");
        }
        let mut times = BTreeMap::new();
        for run in &executed {
            *times.entry(run).or_insert(0_usize) += 1;
        }
        assert!(
            times.keys().copied().eq(&journaled),
            "{times:?}\n{journaled:?}\n{finished}"
        );
        let kills = self.kills - kills_before;
        assert!(executed.len() <= journaled.len() + kills, "{times:?}");
        assert_eq!(processes_of(&job), [] as [String; 0]);
        Some((job, finished))
    }
}

#[test]
fn a_job_that_is_killed_fifty_times_ends_as_if_it_had_not_been() {
    survives("adaptive", &[SIGKILL], 50);
}

#[test]
fn so_does_one_with_the_reference_strategy() {
    survives("pinpoint", &[SIGKILL], 20);
}

#[test]
fn so_does_one_that_is_interrupted_in_every_way() {
    survives("adaptive", &[SIGINT, SIGTERM, SIGHUP, SIGKILL], 20);
}

#[expect(clippy::print_stdout, reason = "what the walk was")]
fn survives(strategy: &'static str, signals: &'static [i32], usually: usize) {
    let dice = Dice::new();
    // Distinct numbers, so that each commit has noise of its own.
    let values = (0..32).map(|number| {
        if number < 19 {
            100 + number
        } else {
            200 + number
        }
    });
    let mut scene = Scene {
        world: World::with_values(values),
        strategy,
        signals,
        dice,
        kills: 0,
        most_kills: attacks(usually),
    };
    let before = scene.world.snapshot();
    let reference = scene.begin().wait();
    let expected = comparable(&reference);
    assert_eq!(expected["status"], "culprit_found", "{reference}");

    let mut finished = 0;
    // A busy machine may have no job created before it is killed.
    while scene.kills < scene.most_kills || finished == 0 {
        let Some((job, end)) = scene.job() else {
            continue;
        };
        finished += 1;
        assert_eq!(comparable(&end), expected, "job {job}\n{end}");
        assert_eq!(end.document()["job_id"], *job);
    }
    println!(
        "{finished} jobs of {} runs finished in spite of {} kills",
        expected["runs"], scene.kills
    );
    assert_eq!(scene.world.snapshot(), before);
}
