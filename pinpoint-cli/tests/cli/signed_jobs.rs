//! Signed jobs, and workers that take no others.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use libc::SIGKILL;
use serde_json::{Value, json};

use crate::pool::{Pool, stop};
use crate::world::{BENCHMARK, World, git, until};

/// A key on the desk, and its public half.
fn new_key(pool: &Pool, name: &str) -> (String, String) {
    let file = pool.world.path(name).display().to_string();
    let made = pool
        .on("desk", &["workers", "key", "new", &file])
        .ends_with(0);
    let shown = pool
        .on("desk", &["workers", "key", "show", &file])
        .ends_with(0);
    assert_eq!(shown.stdout, made.stdout);
    (file, made.stdout.trim().to_owned())
}

#[test]
fn a_worker_that_trusts_a_key_takes_what_is_signed_with_it() {
    let pool = Pool::new(World::with_step(16, 9));
    let (ada, public) = new_key(&pool, "ada.key");
    let (eve, of_eve) = new_key(&pool, "eve.key");
    let unsigned = pool.detach(&[], BENCHMARK);
    let by_eve = pool.detach(&["--sign-with", &eve], BENCHMARK);
    let altered = pool.detach(&["--sign-with", &ada], BENCHMARK);
    let signed = pool.detach(&["--sign-with", &ada], BENCHMARK);
    pool.alter(&format!(
        "UPDATE jobs SET title = 'harmless' WHERE id = '{altered}'"
    ));
    let keys = pool.world.path("keys");
    fs::write(&keys, format!("# who may\n{public} ada@desk\n")).unwrap();
    let options = ["worker", "--bot", "lab", "--machine", "rack-1", "--trust"];
    let worker = pool.on("rack-1", &options).and(&[&keys]).start();
    let culprit = format!("culprit {}", pool.world.commits[9]);
    pool.wait(&signed).ends_with(0).says(&culprit);
    until("the end of its work", || pool.list()[0]["job"].is_null());
    let listed = pool.on("desk", &["workers", "list"]).ends_with(0);
    listed.says("takes signed jobs only");
    assert_eq!(pool.list()[0]["trusted"], json!([public]));

    let show = |job: &str| pool.on("desk", &["jobs", "show", job]).ends_with(0);
    let only = "workers of bot `lab` take only jobs that are signed with a key they trust, and ";
    show(&unsigned).says(&format!("{only}it is not signed"));
    show(&by_eve).says(&format!("{only}none of them trusts {of_eve}"));
    show(&by_eve).says(&format!("signed with {of_eve}"));
    let changed = format!("not as it was when it was signed with {public}");
    show(&altered).says(&changed).says(only);
    assert_eq!(
        pool.show(&signed)["signatures"],
        json!([{ "key": public, "fits": true }])
    );
    for job in [&unsigned, &by_eve, &altered] {
        assert_eq!(pool.show(job)["state"], "pending");
    }

    // A trusted user answers for it after all.
    let resume = |job: &str| pool.on("desk", &["jobs", "resume", job, "--detach"]);
    let ask = resume(&unsigned).and(&["--sign-with", &ada]).ends_with(2);
    ask.tells("It runs on workers:")
        .tells("latency")
        .tells("--yes");
    let yes = resume(&unsigned).and(&["--yes"]);
    yes.env("PINPOINT_SIGNING_KEY", &ada).ends_with(0);
    pool.wait(&unsigned).ends_with(0).says(&culprit);
    // It is signed, so no question is necessary.
    pool.alter(&format!(
        "UPDATE jobs SET state = 'failed' WHERE id = '{unsigned}'"
    ));
    resume(&unsigned).and(&["--sign-with", &ada]).ends_with(0);
    pool.wait(&unsigned).ends_with(0).says(&culprit);
    stop(worker);
}

#[test]
fn keys_that_are_none_are_refused() {
    let pool = Pool::new(World::with_step(4, 2));
    let (ada, public) = new_key(&pool, "ada.key");
    pool.on("desk", &["workers", "key", "new", &ada])
        .ends_with(2)
        .tells("File exists");
    let [garbage, none] = ["garbage", "none"].map(|name| pool.world.path(name));
    fs::write(&garbage, "garbage").unwrap();
    fs::write(&none, "# nobody yet\n").unwrap();
    let [garbage, none] = [&garbage, &none].map(|path| path.to_str().unwrap());
    for (trust, told) in [
        ("ed25519:AAAA", "is not a public key"),
        (garbage, "garbage, line 1: \"garbage\" is not a public key"),
        (none, "holds no public key"),
        (&*ada, "is not a public key"),
        ("missing", "cannot use the key file missing"),
        ("", "cannot use the key file"),
    ] {
        let options = [
            "worker",
            "--bot",
            "lab",
            "--machine",
            "rack-1",
            "--trust",
            trust,
        ];
        pool.on("rack-1", &options).ends_with(2).tells(told);
    }
    let options = ["worker", "--bot", "lab", "--temporal", "--trust", &public];
    pool.on("rack-1", &options)
        .ends_with(2)
        .tells("cannot be used with");
    for (key, told) in [
        (garbage, "holds no signing key"),
        (&public, "cannot use the key file"),
    ] {
        let bisect = ["--bot", "lab", "--detach", "--sign-with", key];
        let bisect = pool.at("desk", pool.world.bisect(&bisect, BENCHMARK));
        bisect.ends_with(2).says_nothing().tells(told);
    }
    fs::set_permissions(&ada, fs::Permissions::from_mode(0o644)).unwrap();
    let bisect = ["--bot", "lab", "--detach", "--sign-with", &ada];
    let bisect = pool.at("desk", pool.world.bisect(&bisect, BENCHMARK));
    bisect.ends_with(2).says_nothing().tells("chmod 600");
    assert_eq!(pool.world.jobs(), [] as [Value; 0]);
}

/// An attacker who can write to the store can't have a commit built that the signed job does not
/// lead to.
#[test]
fn the_journal_of_a_signed_job_leads_nowhere_else() {
    let world = World::with_step(16, 9);
    // A commit that was proposed, and is on no requested branch.
    let git = |arguments: &[&str]| git(&world.repository, arguments);
    git(&["checkout", "-q", "-b", "proposed", &world.commits[8]]);
    fs::write(world.repository.join("evil"), "").unwrap();
    git(&["add", "evil"]);
    let author = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"];
    git(&[&author[..], &["commit", "-q", "-m", "Nothing bad"]].concat());
    let evil = git(&["rev-parse", "HEAD"]);
    git(&["checkout", "-q", "main"]);
    let pool = Pool::new(world);
    let (ada, public) = new_key(&pool, "ada.key");
    let (gate, reached, reached_evil) = (
        pool.world.path("gate"),
        pool.world.path("reached"),
        pool.world.path("reached-evil"),
    );
    fs::write(&gate, "").unwrap();
    // It waits in the first run between the ends.
    let script = format!(
        "[ ! -e evil ] || : > {evil}; case $(cat number) in 0|15) ;; *) : > {reached}; \
         while [ -e {gate} ]; do sleep 0.01; done;; esac; {BENCHMARK}",
        evil = reached_evil.display(),
        reached = reached.display(),
        gate = gate.display(),
    );
    let job = pool.detach(&["--sign-with", &ada], &script);
    let worker = |machine: &str| {
        let options = [
            "worker", "--bot", "lab", "--lease", "2s", "--trust", &public,
        ];
        pool.on(machine, &options)
            .and(&["--machine", machine])
            .start()
    };
    let first = worker("rack-1");
    until("a run between the ends", || reached.exists());
    first.signal(SIGKILL);
    first.wait();
    fs::remove_file(&gate).unwrap();

    let replace = |from: &str, to: &str| {
        pool.alter(&format!(
            "UPDATE records SET event = replace(event, '{from}', '{to}'), \
             detail = replace(detail, '{from}', '{to}')"
        ));
    };
    let commits = &pool.world.commits;
    let between: Vec<&str> = commits[1..15].iter().map(String::as_str).collect();
    for named in [&between[..], &[&*commits[15]], &[&*commits[0]]] {
        pool.alter("CREATE TABLE saved AS SELECT * FROM records");
        for commit in named {
            replace(commit, &evil);
        }
        let second = worker("rack-2");
        let ended = pool.wait(&job).start().wait();
        stop(second);
        assert!(!reached_evil.exists(), "{ended}");
        ended.tells("which this signed job does not lead to");
        pool.alter(
            "DELETE FROM records; INSERT INTO records SELECT * FROM saved; DROP TABLE saved",
        );
        pool.on("desk", &["jobs", "resume", &job, "--detach"])
            .ends_with(0);
    }
    // As it was, it leads to its end.
    let third = worker("rack-2");
    let culprit = format!("culprit {}", commits[9]);
    pool.wait(&job).ends_with(0).says(&culprit);
    stop(third);
}

#[test]
fn the_patch_of_a_signed_job_is_the_one_that_was_signed() {
    let pool = Pool::new(World::with_values([1, 1]));
    let (ada, public) = new_key(&pool, "ada.key");
    let compare = |name: &str, value: u32, options: &[&str]| {
        let patch = pool.world.path(name);
        let diff = format!("--- a/value\n+++ b/value\n@@ -1 +1 @@\n-1\n+{value}\n");
        fs::write(&patch, diff).unwrap();
        let pairwise = [
            "pairwise", "main", "--bot", "lab", "--detach", "--pairs", "6",
        ];
        let compared = pool.on("desk", &pairwise).and(options);
        let compared = compared.and(&["--patch", patch.to_str().unwrap()]);
        let compared = compared.and(&["--", "sh", "-c", BENCHMARK]).ends_with(0);
        compared.stdout.trim().to_owned()
    };
    let signed = compare("slow.diff", 2, &["--sign-with", &ada]);
    let other = compare("slower.diff", 3, &[]);
    let of = |job: &str| format!("job = (SELECT number FROM jobs WHERE id = '{job}')");
    pool.alter(&format!(
        "UPDATE job_files SET content = (SELECT content FROM job_files WHERE {} AND \
         name = 'patch') WHERE {} AND name = 'patch'",
        of(&other),
        of(&signed)
    ));
    let options = [
        "worker",
        "--bot",
        "lab",
        "--machine",
        "rack-1",
        "--trust",
        &public,
    ];
    let worker = pool.on("rack-1", &options).start();
    let failed = pool.wait(&signed).ends_with(1);
    failed.tells("slow.diff has changed since the job was created");
    stop(worker);
}
