//! Disturbances of a job at the worst time: a disk that is full, a clock that jumps,
//! damaged files, other jobs.
//!
//! After each the job ends with the right answer or says why it has none; once the fault is fixed,
//! the right answer is found. `PINPOINT_ATTACKS=1000` runs longer, and `KILL_SEED` repeats a walk.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use libc::SIGKILL;

use crate::world::{BENCHMARK, Dice, Finished, Pinpoint, Running, World, attacks, processes_of};

/// The commit that is slower than the one before it.
const CULPRIT: usize = 9;

fn world() -> World {
    World::with_step(16, CULPRIT)
}

const OPTIONS: [&str; 4] = ["--build", "cp value built", "--output", "json"];

fn bisect(world: &World) -> Pinpoint {
    world.bisect(&OPTIONS, BENCHMARK)
}

fn resume(world: &World, job: &str) -> Pinpoint {
    world.pinpoint(&["jobs", "resume", job, "--output", "json"])
}

/// The right culprit was found.
#[track_caller]
fn found(world: &World, finished: &Finished) {
    assert_eq!(finished.status.code(), Some(0), "{finished}");
    let document = finished.document();
    let culprits = document["culprits"].as_array().unwrap();
    assert_eq!(culprits.len(), 1, "{finished}");
    assert_eq!(
        culprits[0]["commit"]["main"]["git_hash"], *world.commits[CULPRIT],
        "{finished}"
    );
}

/// The right culprit was found, or the reason why none was. Another commit is never blamed, "no
/// regression" is never found, and nothing panics.
#[track_caller]
fn found_or_explained(world: &World, finished: &Finished) {
    match finished.status.code() {
        Some(0) => found(world, finished),
        Some(1 | 2 | 4) => {
            let said = format!("{}{}", finished.stdout, finished.stderr);
            assert!(!said.trim().is_empty(), "{finished}");
            assert!(!said.contains("panicked"), "{finished}");
        }
        _ => panic!("{finished}"),
    }
}

/// A file system that only some processes see.
pub(crate) struct SmallDisk {
    holder: Child,
    answers: BufReader<std::process::ChildStdout>,
    enter: Vec<String>,
}

impl SmallDisk {
    /// Mounts one, if this machine lets its users.
    pub(crate) fn mount(world: &World, at: &Path, kilobytes: u64) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let script = "mount -t tmpfs -o size=$1k none \"$0\" && echo mounted || exit 1; \
                      while read -r options; do mount -o remount,$options \"$0\"; echo mounted; done";
        // Root needs no user namespace, and others can't always get one.
        for (namespaces, of_user) in [
            (&["--mount"][..], &[][..]),
            (
                &["--user", "--map-root-user", "--mount"],
                &["--user", "--preserve-credentials"],
            ),
        ] {
            let mut holder = Command::new("unshare")
                .args(namespaces)
                .args(["sh", "-c", script])
                .arg(at)
                .arg(kilobytes.to_string())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .ok()?;
            let answers = BufReader::new(holder.stdout.take().unwrap());
            let enter = ["nsenter", "--target", &holder.id().to_string(), "--mount"]
                .iter()
                .chain(of_user)
                // The directory is looked up again: it is another one there.
                .chain(&["--", "sh", "-c", "cd \"$0\" && exec \"$@\""])
                .map(ToString::to_string)
                .chain(std::iter::once(world.repository.display().to_string()))
                .collect();
            let mut disk = Self {
                holder,
                answers,
                enter,
            };
            if disk.is_mounted() {
                return Some(disk);
            }
        }
        None
    }

    fn is_mounted(&mut self) -> bool {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        line == "mounted\n"
    }

    pub(crate) fn resize(&mut self, kilobytes: u64) {
        self.remount(&format!("size={kilobytes}k"));
    }

    fn remount(&mut self, options: &str) {
        let stdin = self.holder.stdin.as_mut().unwrap();
        writeln!(stdin, "{options}").unwrap();
        assert!(self.is_mounted());
    }

    pub(crate) fn seen_by(&self, command: Pinpoint) -> Pinpoint {
        command.started_by(&self.enter)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

#[test]
fn a_disk_that_is_full_at_any_moment_makes_no_wrong_answer() {
    let mut dice = Dice::new();
    let world = world();
    let mut ends = std::collections::BTreeMap::new();
    for _ in 0..attacks(12) {
        // Everything that a job of this size leaves takes less.
        let size = 16 + dice.below(2000);
        let _ = fs::remove_dir_all(world.path("state"));
        let Some(mut disk) = SmallDisk::mount(&world, &world.path("state"), size) else {
            eprintln!("NOT TESTED: this machine lets nobody mount a file system");
            return;
        };
        let first = disk.seen_by(bisect(&world)).start().wait();
        found_or_explained(&world, &first);
        *ends.entry(first.status.code()).or_insert(0) += 1;

        disk.resize(256 << 10);
        let list = world.pinpoint(&["jobs", "list", "--output", "json"]);
        let list = disk.seen_by(list).ends_with(0).document();
        for job in list["jobs"].as_array().unwrap() {
            let id = job["id"].as_str().unwrap();
            assert_eq!(processes_of(id), [] as [String; 0], "{first}");
            if ["pending", "running"].contains(&job["state"].as_str().unwrap()) {
                let resumed = disk.seen_by(resume(&world, id)).start().wait();
                // A build or a run that could not write has failed, and stays so.
                found_or_explained(&world, &resumed);
            }
        }
        let anew = disk.seen_by(bisect(&world)).start().wait();
        found(&world, &anew);
    }
    println!("exit codes on a full disk: {ends:?}");
    assert!(ends.len() > 1, "no disk was full, or all were: {ends:?}");
}

#[test]
fn a_state_directory_that_can_not_be_written_is_read() {
    let world = world();
    let Some(mut disk) = SmallDisk::mount(&world, &world.path("state"), 256 << 10) else {
        eprintln!("NOT TESTED: this machine lets nobody mount a file system");
        return;
    };
    found(&world, &disk.seen_by(bisect(&world)).start().wait());
    disk.remount("ro");
    let list = world.pinpoint(&["jobs", "list", "--output", "json"]);
    let list = disk.seen_by(list).ends_with(0).document();
    let id = list["jobs"][0]["id"].as_str().unwrap();
    let show = disk.seen_by(world.pinpoint(&["jobs", "show", id]));
    show.ends_with(0).says("culprit ");
    disk.seen_by(world.pinpoint(&["jobs", "export"]))
        .ends_with(0)
        .says(id);
    // Necessary writes are refused.
    let anew = disk.seen_by(bisect(&world)).start().wait();
    assert_eq!(anew.status.code(), Some(1), "{anew}");
    assert!(anew.stderr.contains("read"), "{anew}");
}

/// The library that gives a process another time, of Debian's package `faketime`.
fn faketime() -> Option<PathBuf> {
    let machine = std::env::consts::ARCH;
    [
        format!("/usr/lib/{machine}-linux-gnu/faketime/libfaketime.so.1"),
        "/usr/lib64/faketime/libfaketime.so.1".to_owned(),
    ]
    .into_iter()
    .map(PathBuf::from)
    .find(|path| path.exists())
}

/// A clock for a command that can be put forward and back while it works.
struct Clock {
    library: PathBuf,
    file: PathBuf,
}

impl Clock {
    fn new(world: &World) -> Option<Self> {
        let clock = Self {
            library: faketime()?,
            file: world.path("clock"),
        };
        clock.jump("+0");
        Some(clock)
    }

    /// Days, hours or minutes from the true time.
    fn jump(&self, by: &str) {
        let new = self.file.with_extension("new");
        fs::write(&new, by).unwrap();
        fs::rename(new, &self.file).unwrap();
    }

    fn of(&self, command: Pinpoint) -> Pinpoint {
        command
            .env("LD_PRELOAD", &self.library)
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_NO_CACHE", "1")
            // The clock for durations does not jump when the other clock is set.
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
    }
}

#[test]
fn a_clock_that_jumps_changes_no_answer_and_holds_up_no_job() {
    let mut dice = Dice::new();
    let world = world();
    let Some(clock) = Clock::new(&world) else {
        eprintln!("NOT TESTED: there is no libfaketime (Debian's package faketime)");
        return;
    };
    let jumps = ["+2d", "-2d", "+50y", "-20y", "+61m", "-61m", "+0"];
    for _ in 0..attacks(4) {
        world.pinpoint(&["clean"]).ends_with(0);
        let mut jump = || clock.jump(jumps[dice.below(jumps.len() as u64) as usize]);
        let mut running = clock.of(bisect(&world)).start();
        let job = running.job();
        for _ in 0..4 {
            jump();
            std::thread::sleep(Duration::from_millis(100));
            jump();
            std::thread::sleep(Duration::from_millis(100));
            running.signal(SIGKILL);
            let finished = running.wait();
            if !finished.was_killed() {
                found(&world, &finished);
            }
            jump();
            // A finished job repeats its result.
            running = clock.of(resume(&world, &job)).start();
        }
        found(&world, &running.wait());
        let shown = clock.of(world.pinpoint(&["jobs", "show", &job, "--output", "json"]));
        shown.ends_with(0);
    }
}

/// The files of Pinpoint itself, without those that a benchmark reads.
fn kept_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != "tree" {
            files.extend(kept_files(&path));
        } else if kind.is_file() {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn a_damaged_state_directory_makes_no_wrong_answer() {
    let mut dice = Dice::new();
    let world = world();
    for _ in 0..attacks(8) {
        let _ = fs::remove_dir_all(world.path("state"));
        let running = bisect(&world).start();
        std::thread::sleep(Duration::from_millis(dice.below(1200)));
        running.signal(SIGKILL);
        let first = running.wait();

        let mut done = Vec::new();
        for _ in 0..=dice.below(3) {
            let files = kept_files(&world.state_dir());
            if files.is_empty() {
                break;
            }
            let path = dice.one_of(&files);
            let mut content = fs::read(path).unwrap();
            let at = dice.below(content.len() as u64 + 1) as usize;
            match dice.below(3) {
                0 => content.truncate(at),
                1 => content.clear(),
                _ => {
                    let end = content.len().min(at + 16);
                    for byte in &mut content[at..end] {
                        *byte = dice.below(256) as u8;
                    }
                }
            }
            done.push(format!(
                "{} from {at}, {} bytes",
                path.display(),
                content.len()
            ));
            fs::write(path, content).unwrap();
        }

        let list = world
            .pinpoint(&["jobs", "list", "--output", "json"])
            .start()
            .wait();
        assert!(
            matches!(list.status.code(), Some(0..=2)),
            "{done:?}\n{list}"
        );
        if let Some(job) = first
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("job "))
        {
            let resumed = resume(&world, job).start().wait();
            check(&done, || found_or_explained(&world, &resumed));
        }
        let anew = bisect(&world).start().wait();
        check(&done, || found_or_explained(&world, &anew));
    }
}

/// Prints the changes to the files if it does not hold.
#[expect(clippy::print_stdout, reason = "seen when the test fails")]
fn check(done: &[String], holds: impl FnOnce()) {
    println!("{done:?}");
    holds();
}

#[test]
fn many_jobs_at_once_that_are_killed_and_cleaned_up_after_find_the_same() {
    let mut dice = Dice::new();
    let world = world();
    let mut left = attacks(12);
    while left > 0 {
        let mut jobs: Vec<Running> = (0..4).map(|_| bisect(&world).start()).collect();
        while let Some(running) = jobs.pop() {
            std::thread::sleep(Duration::from_millis(dice.below(400)));
            if left > 0 {
                left -= 1;
                running.signal(SIGKILL);
                world.pinpoint(&["clean"]).ends_with(0);
                let finished = running.wait();
                let job = finished
                    .stderr
                    .lines()
                    .find_map(|line| line.strip_prefix("job "));
                jobs.push(match job {
                    Some(job) if finished.was_killed() => resume(&world, job).start(),
                    _ => bisect(&world).start(),
                });
                let place = dice.below(jobs.len() as u64) as usize;
                let last = jobs.len() - 1;
                jobs.swap(place, last);
            } else {
                found(&world, &running.wait());
            }
        }
    }
    for job in world.jobs() {
        assert_eq!(processes_of(job["id"].as_str().unwrap()), [] as [String; 0]);
    }
}
