//! Commits and changes, looked up as they are typed.

use super::commands::words;
use super::*;

#[tokio::test]
async fn what_can_not_be_looked_up_says_why() {
    let world = world().await;
    let part = async |path: &str| get(&world, path).await.ok();
    for (path, expected) in [
        ("/new/commit?bot=lab&name=HEAD~1", "does not name a commit"),
        ("/new/commit?bot=lab&name=abcdef0", "can't look up commits"),
        (
            "/new/commit?bot=lab&name=Recent",
            "No job has built a commit for lab yet",
        ),
        ("/new/commit?name=Recent", "Enter the bot first."),
        ("/new/patch?name=1", "its operator lists hosts"),
        (
            "/new/stories?benchmark=parsing",
            r#"<option value="small"></option>"#,
        ),
        ("/new/builds?bot=lab", r#"<option value="HEAD">"#),
        ("/new/bots", r#"<option value="lab"></option>"#),
        // Browsers suggest options that contain the text, in their labels, too.
        ("/new/bots?typed=la", r#"<option value="lab"></option>"#),
        (
            "/new/bots?typed=%22lb",
            r#"<option value="lab" label="lab, for &quot;lb"></option>"#,
        ),
        (
            "/new/benchmarks?typed=psng",
            r#"<option value="parsing" label="parsing, for psng"></option>"#,
        ),
    ] {
        let shown = part(path).await;
        assert!(shown.contains(expected), "{path}: {shown}");
    }
    for path in ["/new/commit", "/new/patch", "/new/commit?bot=lab&name="] {
        assert_eq!(part(path).await, "");
    }
}

/// Commits of a real repository, whose positions begin at 100: by every name that they have.
pub(crate) async fn commits_are_looked_up(world: &World, hashes: &[String]) {
    let part = async |path: &str| get(world, path).await.ok();
    let short = &hashes[4][..12];
    for name in ["104", "refs/heads/main@%7B%23104%7D", short, &hashes[4]] {
        let shown = part(&format!("/new/commit?bot=lab&name={name}")).await;
        for expected in [
            short,
            "<bdi>change 4</bdi>",
            "<bdi>Ada &lt;ada@example.org&gt;</bdi>",
            "<bdi>refs/heads/main@{#104}</bdi>",
        ] {
            assert!(shown.contains(expected), "{name}: {shown}");
        }
    }
    let absent = part("/new/commit?bot=lab&name=999").await;
    assert!(absent.contains("has no commit main@{#999}"), "{absent}");
    // Both absent commits, and the other problems.
    let fields = [
        ("kind", "bisection"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "unheard"),
        ("good", "998"),
        ("bad", "--output=x"),
    ];
    let wrong = [
        ("good", "has no commit main@{#998}"),
        ("bad", "does not name a commit"),
        ("story", "no story"),
    ];
    refused(world, &fields, &wrong).await;
    // Existing commits, with an unknown bot.
    let fields = [
        ("kind", "bisection"),
        ("bot", "unheard"),
        ("benchmark", "parsing"),
        ("good", "HEAD"),
        ("bad", "997"),
    ];
    let wrong = [("bot", "unheard"), ("bad", "has no commit main@{#997}")];
    refused(world, &fields, &wrong).await;
    // The commits between the ends are counted.
    let (good, bad) = (&hashes[0], &hashes[7][..12]);
    let path = format!(
        "/new/estimate?kind=bisection&bot=lab&good={good}&bad={bad}&magnitude=20%25&max_runs=40"
    );
    let estimate = part(&path).await;
    assert!(
        estimate.contains("6 commits between the ends"),
        "{estimate}"
    );
    // Without scripts, a button does all that.
    let fields = [
        ("kind", "try"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "small"),
        ("base", "104"),
    ];
    let page = send(world, "look", &fields).await.ok();
    assert!(page.contains("<bdi>change 4</bdi>"));
    let command = &words(&page, "pinpoint")[..3];
    assert_eq!(command, ["pairwise", &hashes[4], &hashes[4]]);
}

/// After jobs that have built something.
pub(crate) async fn the_last_build_is_known(world: &World, hashes: &[String]) {
    let shown = get(world, "/new/commit?bot=lab&name=Recent").await.ok();
    assert!(shown.contains("<bdi>change "), "{shown}");
    let suggested = get(world, "/new/builds?bot=lab").await.ok();
    assert!(suggested.contains(r#"<option value="Recent">"#));
    let newest = hashes.iter().find(|hash| shown.contains(&hash[..12]));
    let fields = [
        ("kind", "try"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "small"),
        ("base", "HEAD"),
        ("experiment", "Recent"),
    ];
    let made = send(world, "make", &fields).await;
    let asked = &arguments(world, &made).await["pairwise"];
    assert_eq!(asked["base"], *hashes.last().unwrap());
    assert_eq!(asked["experiment"], **newest.unwrap());
}
