//! A job that is killed again and again, and comes to the same end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libc::SIGKILL;
use pinpoint_core::{Detail, Record};
use serde_json::Value;

use crate::world::{Finished, Running, World, assert_nothing_repeated, processes_of};

/// How often the process is killed.
const KILLS: usize = 50;
/// The longest that it is let live, in milliseconds.
const LONGEST: u64 = 500;

/// SplitMix64, by Steele, Lea and Flood.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// A run of the benchmark: its commit and its index.
type Run = (String, u32);

/// What is to happen, with the places where the benchmark tells of itself.
struct Scene {
    world: World,
    strategy: &'static str,
    dice: Dice,
    kills: usize,
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
    of_job.collect()
}

fn runs(records: &[Record]) -> BTreeSet<Run> {
    let run = |record: &Record| match &record.detail {
        Some(Detail::Run(run)) => Some((run.commit.main.git_hash.clone(), run.index)),
        _ => None,
    };
    records.iter().filter_map(run).collect()
}

/// A document without what is never the same twice.
fn comparable(finished: &Finished) -> Value {
    let mut document = finished.document();
    let fields = document.as_object_mut().unwrap();
    assert!(fields.remove("job_id").is_some() && fields.remove("duration_s").is_some());
    document
}

impl Scene {
    /// A job that is new in all: nothing was built for it before.
    fn begin(&self) -> Running {
        self.world.pinpoint(&["clean"]).ends_with(0);
        // A small step in noise that depends on commit and run alone, so that
        // ten runs do not always tell.
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

    /// Kills the process unless it ends by itself before.
    fn kill(&mut self, running: Running) -> Finished {
        std::thread::sleep(Duration::from_millis(self.dice.below(LONGEST)));
        running.signal(SIGKILL);
        let finished = running.wait();
        self.kills += usize::from(finished.was_killed());
        finished
    }

    fn newest(&self) -> Option<String> {
        Some(self.world.jobs().first()?["id"].as_str()?.to_owned())
    }

    /// One job, killed until it is finished nevertheless or there were kills
    /// enough. Nothing is told of a job that was killed before it was one.
    fn job(&mut self) -> Option<(String, Finished)> {
        let before = self.newest();
        let kills_before = self.kills;
        let mut finished = {
            let running = self.begin();
            self.kill(running)
        };
        let job = self.newest().filter(|job| Some(job) != before.as_ref())?;
        let mut done = Vec::new();
        while finished.was_killed() {
            let records = self.world.journal(&job);
            assert_nothing_repeated(&records);
            done.push((executions(&self.world, &job).len(), runs(&records)));
            let running = self.resume(&job);
            finished = if self.kills < KILLS {
                self.kill(running)
            } else {
                running.wait()
            };
        }

        let records = self.world.journal(&job);
        assert_nothing_repeated(&records);
        let journaled = runs(&records);
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
    survives_kills("adaptive");
}

#[test]
fn so_does_one_with_the_reference_strategy() {
    survives_kills("pinpoint");
}

#[expect(
    clippy::print_stdout,
    reason = "the seed is told to repeat the walk with"
)]
fn survives_kills(strategy: &'static str) {
    let seed = std::env::var("KILL_SEED").ok().map_or_else(
        || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            now.as_nanos() as u64
        },
        |seed| seed.parse().unwrap(),
    );
    println!("the seed is {seed}; give it again with KILL_SEED={seed}");
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
        dice: Dice(seed),
        kills: 0,
    };
    let before = scene.world.snapshot();
    let reference = scene.begin().wait();
    let expected = comparable(&reference);
    assert_eq!(expected["status"], "culprit_found", "{reference}");

    let mut finished = 0;
    while scene.kills < KILLS {
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
    assert!(finished > 0);
    assert_eq!(scene.world.snapshot(), before);
}
