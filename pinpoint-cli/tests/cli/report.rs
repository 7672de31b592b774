//! `--report` and `pinpoint jobs report`: the contents of the file, whatever the result of the job.
//! `browser.rs` opens it in a browser.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use libc::SIGINT;
use serde_json::Value;

use crate::world::{BENCHMARK, World, git, until};

/// A subject that would like to be more than text.
const HOSTILE: &str = "</title></script><script>document.title='x'</script>\u{202e}<img src=x onerror=alert(1)>&amp;\"'";

/// Six commits, of which the fourth makes the value higher and has that subject.
pub(crate) fn hostile_world() -> World {
    let mut world = World::new();
    let files = |value: &str, number: usize| {
        BTreeMap::from([
            ("value", format!("{value}\n")),
            ("number", number.to_string()),
        ])
    };
    world.add(&[files("1", 0), files("1", 1), files("1", 2)]);
    let place = world.repository.clone();
    fs::write(place.join("value"), "2\n").unwrap();
    let name = ["-c", "user.name=A <b>", "-c", "user.email=a@example.org"];
    git(
        &place,
        &[&name[..], &["commit", "-q", "-a", "-m", HOSTILE]].concat(),
    );
    world.commits.push(git(&place, &["rev-parse", "HEAD"]));
    world.add(&[files("2", 4), files("2", 5)]);
    world
}

/// The report, which must be whole and need nothing from anywhere.
#[track_caller]
fn read(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>"));
    assert!(text.contains("Content-Security-Policy"));
    for needs in [
        "<link rel=\"stylesheet\"",
        "<img",
        "<iframe",
        "@import",
        "url(",
    ] {
        assert!(!text.contains(needs), "{needs}");
    }
    assert_eq!(
        text.matches("src=").count(),
        text.matches("&lt;img src=").count()
    );
    let scripts = text.matches("<script>").count();
    assert_eq!(scripts, 1, "one script of its own");
    text
}

/// The answer, without the elements in it.
#[track_caller]
fn answer(text: &str) -> String {
    let from = text.find("<h1 id=\"answer\">").unwrap() + 16;
    let length = text[from..].find("</h1>").unwrap();
    let mut plain = String::new();
    let mut is_inside = false;
    for character in text[from..from + length].chars() {
        match character {
            '<' => is_inside = true,
            '>' => is_inside = false,
            _ if !is_inside => plain.push(character),
            _ => {}
        }
    }
    plain
}

#[test]
fn a_bisection_is_reported_whatever_its_commits_say() {
    let world = hostile_world();
    let remote = "git@github.com:example/tool.git";
    git(&world.repository, &["remote", "add", "origin", remote]);
    let file = world.path("report.html");
    let options = ["--report", file.to_str().unwrap(), "--strategy", "adaptive"];
    let finished = world.bisect(&options, BENCHMARK).ends_with(0);
    let text = read(&file);
    let said = answer(&text);
    let hash = &world.commits[3];
    assert!(said.starts_with(&hash[..10]), "{said}");
    assert!(said.contains("&lt;/script&gt;&lt;script&gt;") && said.contains("\u{fffd}&lt;img"));
    assert!(said.contains("changed latency from"), "{said}");
    assert!(text.contains(&format!("https://github.com/example/tool/commit/{hash}")));
    assert!(text.contains("1 file changed") && text.contains("a@example.org"));
    assert!(text.contains("probability of no"), "the posterior");
    for fact in [
        "kernel",
        "processor",
        "governor",
        "job created by pinpoint",
        ">git<",
        "strategy",
    ] {
        assert!(text.contains(fact), "{fact}");
    }
    // The command that compares the two again does not write over the report.
    let again = finished.command("bisect");
    assert!(!again.contains("--report"), "{again}");

    // The strategy `pinpoint` has verdicts between neighbors.
    let report = format!("--report={}", file.display());
    let options = [&report, "--strategy", "pinpoint"];
    let finished = world.bisect(&options, BENCHMARK).ends_with(0);
    let again = finished.command("bisect");
    assert!(!again.contains("--report"), "{again}");
    let text = read(&file);
    assert!(text.contains("Comparisons of neighbors") && !text.contains("probability of no"));
}

#[test]
fn builds_that_failed_are_reported_with_the_ends_of_their_outputs() {
    let world = World::with_step(9, 7);
    let file = world.path("report.html");
    let build =
        "echo 'compiling <'$(cat number)'>'; test $(cat number) -lt 3 -o $(cat number) -gt 5";
    let options = ["--report", file.to_str().unwrap(), "--build", build];
    world.bisect(&options, BENCHMARK).ends_with(0);
    let text = read(&file);
    let section = &text[text.find("<details id=\"builds\">").unwrap()..];
    let section = &section[..section.find("</details>").unwrap()];
    assert!(section.contains("failed build"), "{section}");
    assert!(section.contains(">compiling &lt;4&gt;</pre>"), "{section}");
    assert!(!section.contains("compiling &lt;8&gt;"), "{section}");
}

#[test]
fn pairs_are_reported_with_every_metric() {
    let world = hostile_world();
    let script = format!("{BENCHMARK}; echo 'si</p>ze: 5 <b>'");
    let file = world.path("report.html");
    let report = ["--report", file.to_str().unwrap()];
    world
        .pinpoint(&["pairwise", "--pairs", "10"])
        .and(&report)
        .and(&[world.good(), world.bad(), "--", "sh", "-c", &script])
        .ends_with(0);
    let text = read(&file);
    assert!(
        answer(&text).starts_with("latency moved from"),
        "{}",
        answer(&text)
    );
    assert!(
        text.contains("The difference of each pair")
            && text.contains("How often each value occurred")
    );
    assert!(text.contains("si&lt;/p&gt;ze") && text.contains("&lt;b&gt;"));
}

#[test]
fn of_many_metrics_those_that_moved_have_pictures() {
    let world = World::with_step(2, 1);
    // The last one by name, and only that, is what moves.
    let script =
        format!("i=0; while [ $i -lt 30 ]; do echo \"a$i: 5 x\"; i=$((i + 1)); done; {BENCHMARK}");
    let file = world.path("report.html");
    world
        .pinpoint(&["pairwise", "--report", file.to_str().unwrap()])
        .and(&[world.good(), world.bad(), "--", "sh", "-c", &script])
        .ends_with(0);
    let text = read(&file);
    assert!(text.contains("11 more metrics in the table above only"));
    assert!(text.contains("<strong><bdi>latency</bdi></strong> in pictures"));
}

#[test]
fn a_culprit_finder_is_reported_with_its_verifications() {
    let world = hostile_world();
    let file = world.path("report.html");
    let report = ["--report", file.to_str().unwrap(), "--pairs", "6"];
    world
        .pinpoint(&["culprit"])
        .and(&report)
        .and(&[world.good(), world.bad(), "--", "sh", "-c", BENCHMARK])
        .ends_with(0);
    let text = read(&file);
    assert!(answer(&text).contains("changed latency"));
    for part in [
        "Verification of the regression",
        "Check of <code>",
        "Values by commit",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn a_report_is_written_when_a_job_is_interrupted_and_again_when_it_is_resumed() {
    let world = World::with_step(8, 5);
    let directory = world.path("reports");
    fs::create_dir(&directory).unwrap();
    let file = directory.join("report.html");
    let slow = format!("{BENCHMARK}; sleep 0.02");
    // The strategy that makes many runs, so that there is time to interrupt it.
    let options = ["--report", file.to_str().unwrap(), "--strategy", "pinpoint"];
    let running = world.bisect(&options, &slow).start();
    let job = running.job();
    until("some runs", || world.journal(&job).len() > 15);

    // While it runs, too, in another place.
    let now = world.path("now.html");
    world
        .pinpoint(&["jobs", "report", &job, now.to_str().unwrap()])
        .ends_with(0)
        .says(now.to_str().unwrap());
    let text = read(&now);
    assert!(text.contains(">running</span>"), "{}", answer(&text));
    assert!(answer(&text).starts_with("Not finished: "));
    assert!(!file.exists());

    running.signal(SIGINT);
    running.ends_with(130);
    let text = read(&file);
    assert!(text.contains(">interrupted</span>"));

    let resume = ["jobs", "resume", &job];
    fs::rename(&directory, world.path("away")).unwrap();
    world
        .pinpoint(&resume)
        .ends_with(2)
        .tells("name another file");
    fs::rename(world.path("away"), &directory).unwrap();
    world.pinpoint(&resume).ends_with(0);
    let text = read(&file);
    assert!(text.contains(">culprit found</span>") && text.contains("Resumed "));
    let document = world.only_job();
    let runs = format!("{} runs,", document["runs"]);
    assert!(text.contains(&runs), "{runs}");

    // In another place, when that is asked for; also of a job that has ended.
    let other = world.path("other.html");
    let resume = ["jobs", "resume", &job, "--report", other.to_str().unwrap()];
    world.pinpoint(&resume).ends_with(0);
    assert_eq!(answer(&read(&other)), answer(&text));
}

#[test]
fn a_job_that_failed_or_was_canceled_says_so() {
    let world = World::with_step(4, 2);
    let file = world.path("report.html");
    let report = ["--report", file.to_str().unwrap(), "--strategy", "pinpoint"];
    world
        .bisect(&report, "echo 'no <room>' >&2; exit 3")
        .ends_with(1);
    let text = read(&file);
    assert!(text.contains(">failed</span>"));
    let said = answer(&text);
    assert!(
        said.starts_with("The job failed: ") && said.contains("exit code 3: no &lt;room&gt;"),
        "{said}"
    );

    let slow = format!("{BENCHMARK}; sleep 0.05");
    let running = world.bisect(&report, &slow).start();
    let job = running.job();
    until("a run", || world.journal(&job).len() > 4);
    world.pinpoint(&["jobs", "cancel", &job]).ends_with(0);
    running.ends_with(130);
    let text = read(&file);
    assert!(text.contains(">canceled</span>") && text.contains("Values by commit"));
}

#[test]
fn a_file_that_can_not_be_written_is_refused_before_there_is_a_job() {
    let world = World::with_step(3, 1);
    let missing = world.path("none/report.html");
    let directory = world.path("");
    for (file, reason) in [
        (&missing, "name another file"),
        (&directory, "this is a directory"),
    ] {
        let options = ["--report", file.to_str().unwrap()];
        world.bisect(&options, BENCHMARK).ends_with(2).tells(reason);
        let ends = [world.good(), world.bad(), "--", "true"];
        for kind in ["pairwise", "culprit"] {
            let command = world.pinpoint(&[kind]).and(&options).and(&ends);
            command.ends_with(2).tells(reason);
        }
        let demo = world.pinpoint(&["demo"]).and(&options);
        demo.ends_with(2).tells(reason);
    }
    assert_eq!(world.jobs(), [] as [Value; 0]);
    world
        .pinpoint(&["jobs", "report", "none"])
        .ends_with(2)
        .tells("none");
}

#[test]
fn what_is_gone_by_then_is_said_and_the_rest_is_shown() {
    let world = World::with_step(4, 2);
    world.bisect(&[], BENCHMARK).ends_with(0);
    let job = world.only_job()["id"].as_str().unwrap().to_owned();
    // The inputs of a report are in the store, too.
    let job_dir = world.state_dir().join("jobs").join(&job);
    fs::remove_dir_all(&job_dir).unwrap();
    let elsewhere = world.path("elsewhere");
    fs::rename(&world.repository, &elsewhere).unwrap();
    let finished = world
        .pinpoint(&["jobs", "report", &job[..], "--output", "json"])
        .in_dir(&elsewhere)
        .ends_with(0);
    let document = finished.document();
    let file = elsewhere.join(format!("pinpoint-{job}.html"));
    assert_eq!(document["report"], file.to_str().unwrap());
    let text = read(&file);
    assert!(answer(&text).contains("changed latency"));
    assert!(text.contains("This report is not complete"));
    assert!(!text.contains("The machine is not known"));
    let tails = fs::read_to_string(job_dir.join("runs/tails.jsonl")).unwrap();
    assert!(tails.contains("latency: "), "{tails}");
    assert!(text.contains("its repository is not available"));
}
