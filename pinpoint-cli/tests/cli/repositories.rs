//! Jobs on machines without a clone of their creator's repository: a state directory each.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libc::{SIGINT, SIGKILL};

use crate::world::{BENCHMARK, Dice, Pinpoint, World, attacks, git, until};

/// A job that its creator could not finish, exported; the creator's repository is gone.
struct Abandoned {
    world: World,
    job: String,
    upstream: String,
}

impl Abandoned {
    /// Each build is counted, and each run of the benchmark needs a file.
    fn new(build: &str) -> Self {
        let world = World::with_step(4, 2);
        let upstream = world.path("upstream").display().to_string();
        git(
            &world.path(""),
            &["clone", "-q", "--bare", "repository", "upstream"],
        );
        git(&world.repository, &["remote", "add", "origin", &upstream]);
        let script = format!("test -e {} && {BENCHMARK}", world.path("mark").display());
        let build = format!("echo >> {}; {build}", world.path("made").display());
        world.bisect(&["--build", &build], &script).ends_with(1);
        let job = world.only_job()["id"].as_str().unwrap().to_owned();
        let file = world.path("jobs").display().to_string();
        world.pinpoint(&["jobs", "export", &file]).ends_with(0);
        fs::write(world.path("mark"), "").unwrap();
        fs::rename(&world.repository, world.path("away")).unwrap();
        fs::write(world.path("made"), "").unwrap();
        Self {
            world,
            job,
            upstream,
        }
    }

    /// A command on another machine.
    fn on(&self, machine: &str, arguments: &[&str]) -> Pinpoint {
        let pinpoint = self.world.pinpoint(arguments).in_dir(&self.world.path(""));
        let state_dir = self.world.path(machine);
        pinpoint.env("PINPOINT_STATE_DIR", state_dir)
    }

    /// Gives the job to another machine.
    fn import(&self, machine: &str) {
        let file = self.world.path("jobs").display().to_string();
        self.on(machine, &["jobs", "import", &file]).ends_with(0);
    }

    fn resume(&self, machine: &str, options: &[&str]) -> Pinpoint {
        let resume = self.on(machine, &["jobs", "resume", &self.job, "--yes"]);
        resume.and(options)
    }

    fn made(&self) -> usize {
        fs::read_to_string(self.world.path("made"))
            .unwrap()
            .lines()
            .count()
    }

    fn culprit(&self) -> String {
        format!("culprit {}", self.world.commits[2])
    }
}

#[test]
fn a_job_goes_on_where_its_repository_is_not() {
    let job = Abandoned::new("cp value built");
    job.import("one");
    job.resume("one", &[])
        .ends_with(1)
        .tells("not in a git repository");
    let other = ["--allow-repository", "https://host.example/**"];
    let refused = job.resume("one", &other).ends_with(1);
    refused.tells(&format!("--allow-repository '{}'", job.upstream));
    for wrong in ["ext::*", "host/*"] {
        let refused = job
            .resume("one", &["--allow-repository", wrong])
            .ends_with(2);
        refused.tells("does not begin with https://");
    }
    let store = job.world.path("store").display().to_string();
    let permitted = ["--allow-repository", &job.upstream, "--build-store", &store];
    job.resume("one", &permitted)
        .ends_with(0)
        .says(&job.culprit());
    let made = job.made();
    assert!(made > 1, "{made}");

    // The next machine builds nothing, here with a clone that it was given.
    job.import("two");
    let given = format!("{}={}", job.upstream, job.world.path("away").display());
    let permitted = ["--repository", &given, "--build-store", &store];
    job.resume("two", &permitted)
        .ends_with(0)
        .says(&job.culprit());
    assert_eq!(job.made(), made);

    let clean = job
        .on("one", &["clean", "--build-store", &store])
        .ends_with(0);
    clean.says(&format!("{made} directories removed from {store}"));
    let mirrors = job.world.path("one/mirrors");
    assert_eq!(fs::read_dir(&mirrors).unwrap().count(), 3, "and two locks");
    job.on("one", &["clean"]).ends_with(0);
    assert_eq!(fs::read_dir(&mirrors).unwrap().count(), 0);
    let nowhere = job.on("one", &["clean", "--build-store", "/nowhere"]);
    nowhere.ends_with(1).tells("can't read /nowhere");
}

#[test]
fn a_job_goes_on_with_its_clone_where_that_is() {
    let job = Abandoned::new("cp value built");
    fs::rename(job.world.path("away"), &job.world.repository).unwrap();
    let other = ["--allow-repository", "https://host.example/**"];
    job.import("one");
    job.resume("one", &other).ends_with(0).says(&job.culprit());
}

#[test]
fn a_redirect_to_another_url_is_not_followed() {
    let world = World::with_step(4, 2);
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let origin = format!("{url}/open/a");
    git(&world.repository, &["remote", "add", "origin", &origin]);
    world.bisect(&[], "false").ends_with(1);
    let job = world.only_job()["id"].as_str().unwrap().to_owned();
    fs::rename(&world.repository, world.path("away")).unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            // It closes the connection once all of the request is read.
            let _ = lines.find(|line| line.as_ref().is_ok_and(String::is_empty));
            requests.lock().unwrap().push(first.clone());
            let path = first.split(' ').nth(1).unwrap();
            let closed = path.replace("/open/", "/closed/");
            let head = "Content-Length: 0\r\nConnection: close\r\n\r\n";
            let answer = match path == closed {
                true => format!("HTTP/1.1 404 Not Found\r\n{head}"),
                false => format!("HTTP/1.1 302 Found\r\nLocation: {closed}\r\n{head}"),
            };
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    let pattern = format!("{url}/open/*");
    let resume = ["jobs", "resume", &job, "--allow-repository", &pattern];
    let refused = world.pinpoint(&resume).in_dir(&world.path(""));
    let refused = refused.env("no_proxy", "127.0.0.1").ends_with(1);
    refused.tells("it leads to another URL, which is not followed");
    let asked = asked.lock().unwrap();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|it| it.contains("/open/")), "{asked:?}");
}

#[test]
fn no_password_of_a_repository_is_stored() {
    let world = World::with_step(4, 2);
    let clone = world.repository.display().to_string();
    let secret = format!("https://ada:hunter2@host.example/x={clone}");
    world
        .bisect(&["--repository", &secret], "false")
        .ends_with(1);
    let file = world.path("jobs").display().to_string();
    world.pinpoint(&["jobs", "export", &file]).ends_with(0);
    let stored = fs::read_to_string(&file).unwrap();
    assert!(stored.contains("https://host.example/x"), "{stored}");
    assert!(!stored.contains("hunter2"), "{stored}");
}

#[test]
fn a_clone_that_is_interrupted_killed_or_canceled_is_made_again() {
    let job = Abandoned::new("cp value built");
    // The other end of the clone waits in the middle of it.
    let (waits, gate) = (job.world.path("waits"), job.world.path("gate"));
    let hook = job.world.path("hook");
    let script = format!(
        "#!/bin/sh\necho $$ > {0}.new; mv {0}.new {0}\nuntil [ -e {1} ]; do sleep 0.01; done\nexec \"$@\"\n",
        waits.display(),
        gate.display()
    );
    fs::write(&hook, script).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(job.world.path("home")).unwrap();
    let config = format!("[uploadpack]\n\tpackObjectsHook = {}\n", hook.display());
    fs::write(job.world.path("home/.gitconfig"), config).unwrap();

    job.import("one");
    let permitted = ["--allow-repository", &job.upstream];
    for signal in [SIGINT, SIGKILL] {
        let running = job.resume("one", &permitted).start();
        until("the clone", || waits.exists());
        running.signal(signal);
        let finished = running.wait();
        if signal == SIGINT {
            assert_eq!(finished.status.code(), Some(130), "{finished}");
            finished.tells("interrupted");
        }
        let number = fs::read_to_string(&waits).unwrap();
        let process = PathBuf::from("/proc").join(number.trim());
        until("its end", || !lives(&process));
        fs::remove_file(&waits).unwrap();
        // Half of it is not in its place.
        let entries = fs::read_dir(job.world.path("one/mirrors")).unwrap();
        let mut names = entries.map(|entry| entry.unwrap().path());
        assert!(names.all(|path| path.extension().is_some()));
    }
    fs::write(&gate, "").unwrap();
    job.resume("one", &permitted)
        .ends_with(0)
        .says(&job.culprit());
}

/// Returns true if a process is alive, by its directory in `/proc`.
fn lives(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn what_kills_leave_in_a_store_harms_nobody() {
    let many = "mkdir out; i=0; while [ $i -lt 300 ]; do echo $i $PINPOINT_COMMIT > out/$i; i=$((i+1)); done";
    let job = Abandoned::new(many);
    let store = job.world.path("store").display().to_string();
    let options = ["--allow-repository", &job.upstream, "--build-store", &store];
    let mut dice = Dice::new();
    for number in 0..attacks(6) {
        let machine = format!("killed {number}");
        job.import(&machine);
        let made = job.made();
        let running = job.resume(&machine, &options).start();
        // While it is written, if it was not there yet.
        let blobs = job.world.path("store/blobs");
        until("the build", || {
            job.made() > made || fs::read_dir(&blobs).is_ok_and(|it| it.count() > 200)
        });
        std::thread::sleep(Duration::from_millis(dice.below(80)));
        running.signal(SIGKILL);
        running.wait();
    }
    job.import("one");
    job.resume("one", &options)
        .ends_with(0)
        .says(&job.culprit());
    let made = job.made();
    job.import("two");
    job.resume("two", &options)
        .ends_with(0)
        .says(&job.culprit());
    assert_eq!(job.made(), made);
    for machine in ["one", "two"] {
        let logs = job
            .world
            .path(machine)
            .join("jobs")
            .join(&job.job)
            .join("builds");
        for entry in fs::read_dir(logs).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(!name.to_string_lossy().contains("damaged"), "{name:?}");
        }
    }
}
