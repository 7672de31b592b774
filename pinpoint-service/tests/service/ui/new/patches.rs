//! Changes under review that a job applies, and stories that are chosen by tags.

use sha2::{Digest, Sha256};

use super::*;
use crate::gerrit::{PATCH, gerrit};

const TAGGED: &str = r#"
    [bots.lab]
    local = true
    repository = "https://example.org/tool.git"

    [benchmarks.parsing]
    bots = ["lab"]
    command = ["./bench"]
    story_tag_args = ["-d", "--tags={story_tags}"]

    [benchmarks.layout]
    bots = ["lab"]
    command = ["./bench"]
"#;

#[tokio::test]
async fn a_change_at_gerrit_is_applied_to_a_side_and_kept_with_the_job() {
    let world = World::with_bots(SignIn::Nobody("ada".into()), TAGGED).await;
    let world = world.asking(gerrit("gerrit.example.org").await).await;
    let hash = "a".repeat(40);
    let typed = |more: &[(&'static str, &'static str)]| {
        let fields = [("kind", "try"), ("bot", "lab"), ("benchmark", "parsing")];
        [&fields[..], more].concat()
    };
    let send = async |more: &[(&'static str, &'static str)]| {
        let mut fields = typed(more);
        let key = uuid::Uuid::now_v7().simple().to_string();
        fields.push(("do", "make"));
        let more = [("key", &*key), ("base", &*hash)];
        let fields: Vec<(&str, &str)> = fields.into_iter().chain(more).collect();
        post(&world, "/new", &fields).await
    };
    let page = send(&[("experiment_patch", "7")]).await;
    let id = page.leads_to().strip_prefix("/jobs/").unwrap().to_owned();
    let job = world.job(&id).await;
    let sides = &job.spec["sides"];
    let digest = Sha256::digest(PATCH);
    let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let file = json!({ "name": "https://gerrit.example.org/c/tool/+/7/2", "sha256": sha256 });
    assert_eq!(
        sides["experiment"]["commit"]["patch"],
        json!({ "file": file })
    );
    assert_eq!(sides["base"]["commit"]["patch"], Value::Null);
    assert_eq!(sides["experiment"]["commit"]["main"]["git_hash"], *hash);
    // Workers find it with the job.
    let files = world.store.files().list(&job.id).await.unwrap();
    let files: Vec<_> = files
        .iter()
        .map(|file| (&*file.known.name, &*file.content))
        .collect();
    assert_eq!(files, [("patch", PATCH)]);
    let shown = get(&world, &format!("/jobs/{id}")).await.ok();
    assert!(
        shown.contains("+ https://gerrit.example.org/c/tool/+/7/2"),
        "{shown}"
    );
    // Another one like it is the same patch set, even if there are newer ones.
    let form = get(&world, &format!("/new?from={id}")).await.ok();
    assert_eq!(
        value(&form, "experiment_patch"),
        "https://gerrit.example.org/c/7/2"
    );
    let retried = world
        .post(&format!("/api/v2/jobs/{id}/retry"), &json!({}))
        .await
        .ok();
    let again = world
        .job(retried["summary"]["jobId"].as_str().unwrap())
        .await;
    assert_eq!(again.spec["sides"], job.spec["sides"]);
    assert_eq!(world.store.files().list(&again.id).await.unwrap().len(), 1);

    // Both sides may have it.
    let both = send(&[("base_patch", "7/2"), ("experiment_patch", "7")]).await;
    assert!(both.leads_to().starts_with("/jobs/"));
    for (fields, field, problem) in [
        (
            &[("base_patch", "10")][..],
            "base_patch",
            "has no public change 10",
        ),
        (
            &[("base_patch", "9")],
            "base_patch",
            "It changes other, and the bot builds https://example.org/tool.git",
        ),
        (&[("base_patch", "7/3")], "base_patch", "has no patch set 3"),
        (
            &[("base_patch", "7"), ("experiment_patch", "8")],
            "experiment_patch",
            "One job can apply one change",
        ),
        (
            &[("base_patch", "https://evil.example/c/7")],
            "base_patch",
            "is not one of the hosts",
        ),
    ] {
        let refused = send(fields).await;
        assert_eq!(refused.status.as_u16(), 400, "{}", refused.text);
        let place = format!("<p class=\"error\" id=\"e-{field}\">");
        let told = refused
            .text
            .split(&place)
            .nth(1)
            .unwrap()
            .split("</p>")
            .next()
            .unwrap();
        assert!(told.contains(problem), "{problem}: {told}");
    }
}

#[tokio::test]
async fn tags_choose_stories_where_the_operator_says_how() {
    let world = World::with_bots(SignIn::Nobody("ada".into()), TAGGED).await;
    let ask = async |benchmark: &str, tags: &str| {
        let job = json!({
            "bot": "lab", "benchmark": benchmark, "storyTags": tags,
            "bisection": { "good": "a".repeat(40), "bad": "b".repeat(40) },
        });
        world.post("/api/v2/jobs", &job).await
    };
    let made = ask("parsing", "10s, 2019").await.ok();
    let id = made["summary"]["jobId"].as_str().unwrap();
    let job = world.job(id).await;
    let command = json!(["./bench", "-d", "--tags=10s,2019"]);
    assert_eq!(job.config["local"]["command"], command);
    let form = get(&world, &format!("/new?from={id}")).await.ok();
    assert_eq!(value(&form, "story_tags"), "10s, 2019");
    let refused = ask("layout", "10s").await.fails(400, 3);
    assert!(
        refused.contains("its operator gives no `story_tag_args`"),
        "{refused}"
    );
    let refused = ask("parsing", "--x").await.fails(400, 3);
    assert!(refused.contains("does not begin with `-`"), "{refused}");
}
