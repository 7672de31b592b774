//! Runs jobs through seeded trouble; their processes are killed and resumed at random.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fake_luci::Faults;
use pinpoint_core::{
    CombinedCommit, Direction, DriveError, MemoryJournal, Outcome, Pairwise, PairwiseSpec,
    PairwiseStatus, SplitMix64, Status, Stop, drive,
};
use tokio::time::{sleep, timeout};

use super::fixture::{CLOCK, Fixture, IN_MAIN, IN_ROLL, NOWHERE};

/// Processes of a job, at most.
const MOST_PROCESSES: u64 = 200;

/// Drives a job through several processes. Each ends after a time by seed: half of them are
/// killed, the others detach.
#[expect(clippy::print_stdout, reason = "seen when the test fails")]
async fn driven(fixture: &Fixture, seed: u64) -> (Outcome, Vec<CombinedCommit>) {
    let mut journal = MemoryJournal::new(format!("job-{seed}"));
    let mut random = SplitMix64::new(seed);
    for process in 0..MOST_PROCESSES {
        let executor = fixture.executor();
        let draw = random.next_u64();
        // The first processes live shortly, so that there are several of them.
        let life = Duration::from_secs(30 + draw % 5_400 * (1 + process / 4));
        let is_killed = draw >> 63 == 1;
        let stop = async {
            match is_killed {
                true => std::future::pending().await,
                false => sleep(life).await,
            }
            Stop::Detach
        };
        let drive = drive(fixture.search(), &executor, &mut journal, &CLOCK, stop);
        let ended = match is_killed {
            true => timeout(life, drive).await.ok(),
            false => Some(drive.await),
        };
        match ended {
            None | Some(Err(DriveError::Detached)) => {}
            // A person looks, and resumes it.
            Some(Err(DriveError::Refused(error))) => {
                println!("seed {seed}, process {process}: {error}");
                assert!(process < MOST_PROCESSES - 1, "seed {seed}: {error}");
            }
            Some(Err(error)) => panic!("seed {seed}: {error}"),
            Some(Ok(driven)) => {
                let names = driven.engine.names();
                let culprits = driven.outcome.culprits.iter();
                let culprits = culprits.map(|it| names.commit(it.commit).unwrap().clone());
                let culprits = culprits.collect();
                return (driven.outcome, culprits);
            }
        }
    }
    panic!("seed {seed}: {MOST_PROCESSES} processes were not enough");
}

/// Checks that no action was answered by two tasks or two builds.
fn nothing_was_made_twice(fixture: &Fixture, seed: u64) {
    let mut answers: BTreeMap<String, u32> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    for task in fixture.luci.all_tasks() {
        if task.request_uuid.is_empty() {
            continue;
        }
        assert!(
            ids.insert(task.request_uuid.clone()),
            "seed {seed}: {task:?}"
        );
        let key = task
            .tags
            .iter()
            .find(|tag| tag.starts_with("pinpoint_key:"));
        if matches!(task.state, "COMPLETED" | "TIMED_OUT") {
            *answers.entry(key.unwrap().clone()).or_default() += 1;
        }
    }
    for build in fixture.luci.all_builds() {
        let key = build
            .tags
            .iter()
            .find(|(key, _)| key == "pinpoint_key")
            .unwrap();
        // One whose files are gone may be made again.
        let is_answer = matches!(build.status, "SUCCESS" | "FAILURE") && !build.is_gone;
        if is_answer && !build.canceled_by_request {
            *answers.entry(format!("build {}", key.1)).or_default() += 1;
        }
    }
    let twice = answers.iter().find(|(_, times)| **times > 1);
    assert_eq!(twice, None, "seed {seed}");
}

/// The seeds of a test: a few by default, or the requested number, or those from one to another.
fn seeds(default: u64) -> std::ops::Range<u64> {
    let Ok(asked) = std::env::var("PINPOINT_TEST_LUCI_SEEDS") else {
        return 0..default;
    };
    let (from, to) = asked.split_once("..").unwrap_or(("0", &asked));
    from.parse().unwrap()..to.parse().unwrap()
}

/// Runs a test once for each seed, each with its own clock. All seeds are run before the failing
/// ones are named.
fn for_each_seed(default: u64, test: impl AsyncFn(u64)) {
    let fails = |seed: &u64| {
        let one = || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().start_paused(true).build().unwrap();
            runtime.block_on(test(*seed));
        };
        catch_unwind(AssertUnwindSafe(one)).is_err()
    };
    let failed: Vec<u64> = seeds(default).filter(fails).collect();
    assert!(failed.is_empty(), "these seeds fail: {failed:?}");
}

#[test]
#[ignore = "takes minutes: run it with `--ignored luci::faults`, and PINPOINT_TEST_LUCI_SEEDS=1000"]
fn bisections_end_right_or_honestly_inconclusive() {
    let statuses = std::cell::RefCell::new(BTreeMap::<String, u32>::new());
    for_each_seed(24, async |seed| {
        let place = [&*IN_MAIN, &*IN_ROLL, &*NOWHERE][seed as usize % 3];
        let fixture = Fixture::new(place, seed, Faults::SOME);
        let (outcome, culprits) = driven(&fixture, seed).await;
        let has_one = seed % 3 != 2;
        for culprit in &culprits {
            assert!(fixture.is_culprit(culprit), "seed {seed}: {culprit:?}");
        }
        match outcome.status {
            Status::CulpritFound => assert_eq!(culprits.len(), 1, "seed {seed}"),
            Status::NoRegression => assert!(!has_one, "seed {seed}: {outcome:?}"),
            Status::Inconclusive | Status::Failed => {
                println!("seed {seed}: {:?}", outcome.stopped);
            }
            other => panic!("seed {seed}: it is {other:?}"),
        }
        // Cancellations at the end take a moment.
        assert_eq!(
            fixture.luci.left_over(),
            Vec::<String>::new(),
            "seed {seed}"
        );
        nothing_was_made_twice(&fixture, seed);
        *statuses
            .borrow_mut()
            .entry(format!("{:?}", outcome.status))
            .or_default() += 1;
    });
    let statuses = statuses.into_inner();
    println!("{statuses:?}");
    // Trouble costs answers, but not most of them.
    let count = |status: &str| statuses.get(status).copied().unwrap_or_default();
    let right = count("CulpritFound") + count("NoRegression");
    let all: u32 = statuses.values().sum();
    assert!(all < 10 || right * 2 > all, "{statuses:?}");
}

#[test]
fn pairs_with_tasks_between_are_made_again() {
    for_each_seed(8, async |seed| {
        let faults = Faults {
            intercepted: 200,
            ..Faults::SOME
        };
        let fixture = Fixture::new(&IN_MAIN, seed, faults);
        let mut spec = PairwiseSpec {
            chart: Some("Score".into()),
            direction: Direction::Down,
            pairs: 10,
            ..PairwiseSpec::new(fixture.commit(16), fixture.commit(17))
        };
        spec.retry.tries = 8;
        let mut journal = MemoryJournal::new("job");
        let outcome = loop {
            let machine = Pairwise::new(spec.clone()).unwrap();
            let never = std::future::pending();
            match drive(machine, &fixture.executor(), &mut journal, &CLOCK, never).await {
                Ok(driven) => break driven.outcome,
                Err(DriveError::Refused(_)) => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
        };
        assert_ne!(outcome.status, PairwiseStatus::Same, "seed {seed}");
        assert_eq!(
            fixture.luci.left_over(),
            Vec::<String>::new(),
            "seed {seed}"
        );
    });
}
