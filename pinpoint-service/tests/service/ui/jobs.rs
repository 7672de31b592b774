//! The list of jobs, and its buttons.

use pinpoint_backends::store::{JobId, NewJob};
use pinpoint_core::JobState;
use serde_json::json;

use super::{get, post};
use crate::world::World;

/// Markup, and characters that turn the text around them.
pub(super) const HOSTILE: &str = "<img src=x onerror=alert(1)> \u{202e}\"'";

/// Makes a job of this name, and gives its id.
pub(super) async fn made(world: &World, name: &str) -> String {
    let job = json!({
        "bot": "lab",
        "benchmark": "parsing",
        "story": "small",
        "name": name,
        "bisection": { "good": "a".repeat(40), "bad": "b".repeat(40) },
    });
    let made = world.post("/api/v2/jobs", &job).await.ok();
    made["summary"]["jobId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_list_begins_with_ones_own_jobs_and_its_address_says_so() {
    let world = World::new("ada@example.org").await;
    let page = get(&world, "/").await;
    let path = page.leads_to().to_owned();
    assert_eq!(path, "/?user=ada%40example.org&size=25");
    let empty = get(&world, &path).await;
    assert_eq!(empty.headers["cache-control"], "private, no-cache");
    let policy = empty.headers["content-security-policy"].to_str().unwrap();
    for part in [
        "default-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(
        !policy.contains("unsafe") && !policy.contains('*'),
        "{policy}"
    );
    assert!(empty.ok().contains("No jobs match."));
    let id = made(&world, "Since Monday").await;
    let list = get(&world, &path).await.ok();
    assert!(list.contains(&format!(
        r#"<a href="/jobs/{id}"><bdi>Since Monday</bdi></a>"#
    )));
    assert!(list.contains("1 job<"), "{list}");
    let others = get(&world, "/?user=bo@example.org&size=25").await.ok();
    assert!(!others.contains("Since Monday"));
}

#[tokio::test]
async fn what_was_not_made_by_a_request_can_not_be_made_again() {
    let world = World::new("ada").await;
    let of_command = NewJob {
        kind: "bisection".into(),
        name: "By hand".into(),
        ..NewJob::default()
    };
    world.store.jobs().create(&of_command).await.unwrap();
    // A name is not a request.
    let mut of_fields = of_command.clone();
    of_fields.name = "\"request\":{\"story\":\"small\"}".into();
    of_fields.config = json!({ "request": null, "name": of_fields.name });
    world.store.jobs().create(&of_fields).await.unwrap();
    // Chromium's API takes more arguments than ours gives back.
    let mut of_chromium = of_command.clone();
    of_chromium.config = json!({ "request": { "extraArgs": "--flag" } });
    world.store.jobs().create(&of_chromium).await.unwrap();
    let id = made(&world, "Since Monday").await;
    let list = get(&world, "/?size=25").await.ok();
    assert_eq!(list.matches("<tr data-job").count(), 4);
    for (text, path) in [
        ("Retry", format!("/jobs/{id}/retry")),
        ("Clone", format!("/new?from={id}")),
    ] {
        assert_eq!(list.matches(text).count(), 1, "{list}");
        assert!(list.contains(&path), "{list}");
    }
}

#[tokio::test]
async fn text_of_others_is_nothing_else() {
    let world = World::new("ada").await;
    let id = made(&world, HOSTILE).await;
    for path in [
        "/?size=25".to_owned(),
        format!("/jobs/{id}"),
        format!("/jobs/{id}/cancel"),
        format!("/?text={}&size=25", "%3Cimg%20src=x%3E%22"),
        "/%3Cimg%20src=x%3E".to_owned(),
    ] {
        let text = get(&world, &path).await.text;
        assert!(
            !text.contains("<img") && !text.contains('\u{202e}'),
            "{path}: {text}"
        );
    }
}

#[tokio::test]
async fn pages_lead_to_the_next_and_back_and_none_is_empty() {
    let world = World::new("ada").await;
    for number in 0..20 {
        made(&world, &format!("Job {number:02}")).await;
    }
    let link = |text: &str, rel: &str| {
        let at = text.find(&format!(r#"rel="{rel}" href=""#))?;
        let rest = text[at..].split("href=\"").nth(1)?;
        Some(rest.split('"').next()?.replace("&amp;", "&"))
    };
    let first = get(&world, "/?size=10&columns=name,created").await.ok();
    assert!(
        first.contains("Job 19") && !first.contains("Job 09"),
        "{first}"
    );
    assert!(first.contains("20 jobs"));
    assert_eq!(link(&first, "prev"), None);
    // The rest stays as it is.
    let next = link(&first, "next").unwrap();
    assert!(
        next.starts_with("/?columns=name%2Ccreated&size=10&page="),
        "{next}"
    );
    let last = get(&world, &next).await.ok();
    assert!(last.contains("Job 00") && last.contains("Job 09") && !last.contains("Job 10"));
    // The original leads from a full last page to one with nothing on it.
    assert_eq!(link(&last, "next"), None);
    let back = link(&last, "prev").unwrap();
    let back = get(&world, &back).await.ok();
    assert!(back.contains("Job 19") && !back.contains("Job 09"));
}

#[tokio::test]
async fn filters_are_fields_of_the_address() {
    let world = World::new("ada").await;
    made(&world, "Since Monday").await;
    for (query, fits) in [
        ("text=monday", true),
        ("text=tuesday", false),
        (
            "benchmark=parsing&bot=lab&kind=bisection&state=pending",
            true,
        ),
        ("kind=try", false),
        ("state=running", false),
        // The original wants both days, and says nothing of it.
        ("from=2020-01-01", true),
        ("to=2020-01-01", false),
        ("from=2020-01-01&to=2999-12-31", true),
    ] {
        let list = get(&world, &format!("/?{query}&size=25")).await.ok();
        assert_eq!(list.contains("Since Monday"), fits, "{query}");
    }
    for (query, problem) in [
        ("kind=unheard", "choose one of bisection, try, culprit"),
        ("state=unheard", "choose one of pending"),
        ("from=monday", "YYYY-MM-DD"),
        (
            "from=2020-01-02&to=2020-01-01",
            "“From” must not be later than “To”.",
        ),
        ("size=11", "10, 25, 50 or 100"),
        ("columns=unheard", "no column"),
        ("page=forged", "start again from the first page."),
        ("size=25&size=10", "given twice"),
    ] {
        let page = get(&world, &format!("/?{query}")).await;
        assert_eq!(page.status.as_u16(), 400, "{query}");
        assert!(page.text.contains(problem), "{query}: {}", page.text);
    }
}

#[tokio::test]
async fn columns_are_chosen_and_moved() {
    let world = World::new("ada").await;
    made(&world, "Since Monday").await;
    let list = get(&world, "/?columns=status,name&size=25").await.ok();
    let heads: Vec<_> = list.split(r#"<th scope="col">"#).skip(1).collect();
    assert!(heads[0].contains(">Status</a>") && heads[1].contains(">Name</a>"));
    assert_eq!(heads.len(), 3);
    assert!(list.contains(r#"<a href="/?columns=name%2Cstatus&amp;size=25" aria-label="move Status to the right">"#), "{list}");
    assert!(list.contains(r#"<a href="/?columns=name&amp;size=25">hide</a>"#));
    assert!(list.contains(r#"<a href="/?columns=status%2Cname%2Cbot&amp;size=25">show</a>"#));
    // The form keeps the columns.
    assert!(list.contains(r#"name="columns" value="status,name""#));
    // The default list is kept in the account.
    let kept = [
        ("columns", "status,name"),
        ("size", "50"),
        ("user", ""),
        ("page", ""),
    ];
    let kept = post(&world, "/view", &kept).await;
    assert_eq!(kept.leads_to(), "/?columns=status%2Cname&size=50");
    assert_eq!(get(&world, "/").await.leads_to(), kept.leads_to());
    let refused = post(&world, "/view", &[("columns", "unheard")]).await;
    assert_eq!(refused.status.as_u16(), 400);
    assert_eq!(get(&world, "/").await.leads_to(), kept.leads_to());
}

/// The original's newer page asks for no reason, and its older one cancels by a link.
#[tokio::test]
async fn a_job_is_canceled_with_a_reason_and_by_post_alone() {
    let world = World::new("ada").await;
    let id = made(&world, "Since Monday").await;
    let path = format!("/jobs/{id}/cancel");
    let asked = get(&world, &path).await.ok();
    assert!(asked.contains(r#"method="post""#) && asked.contains("required"));
    assert!(
        get(&world, &format!("/jobs/{id}"))
            .await
            .ok()
            .contains("Pending")
    );
    for empty in [&[][..], &[("reason", " ")]] {
        let refused = post(&world, &path, empty).await;
        assert_eq!(refused.status.as_u16(), 400);
        assert!(refused.text.contains("enter a reason"));
    }
    let done = post(&world, &path, &[("reason", "fixed in main")]).await;
    assert_eq!(done.leads_to(), format!("/jobs/{id}"));
    let page = get(&world, &format!("/jobs/{id}")).await.ok();
    assert!(
        page.contains("Canceled") && page.contains("fixed in main"),
        "{page}"
    );
    assert!(!page.contains(&path));
    // Once is enough: another reason is not silently dropped.
    let again = post(&world, &path, &[("reason", "a <b>second</b> one")]).await;
    assert_eq!(again.status.as_u16(), 409);
    for part in ["has ended already", "a &lt;b&gt;second&lt;/b&gt; one"] {
        assert!(again.text.contains(part), "{part}: {}", again.text);
    }
    let asked = get(&world, &path).await.ok();
    assert!(asked.contains("has ended already"), "{asked}");
    assert!(!asked.contains(r#"name="reason""#), "{asked}");
    // The same request again has been done already.
    let same = post(&world, &path, &[("reason", "fixed in main")]).await;
    assert_eq!(same.leads_to(), format!("/jobs/{id}"));
}

#[tokio::test]
async fn a_form_that_is_sent_twice_makes_one_job() {
    let world = World::new("ada").await;
    let id = made(&world, "Since Monday").await;
    let page = get(&world, &format!("/jobs/{id}")).await.ok();
    let key = page.split(r#"name="key" value=""#).nth(1).unwrap();
    let key = key.split('"').next().unwrap();
    let path = format!("/jobs/{id}/retry");
    let first = post(&world, &path, &[("key", key)]).await;
    let again = post(&world, &path, &[("key", key)]).await;
    assert_eq!(first.leads_to(), again.leads_to());
    assert_ne!(first.leads_to(), format!("/jobs/{id}"));
    assert_eq!(post(&world, &path, &[]).await.status.as_u16(), 400);
    let list = get(&world, "/?size=25").await.ok();
    assert!(list.contains("2 jobs"), "{list}");
}

#[tokio::test]
async fn a_job_is_paused_and_goes_on() {
    let world = World::new("ada").await;
    let id = made(&world, "Since Monday").await;
    let page = format!("/jobs/{id}");
    let paused = post(&world, &format!("{page}/pause"), &[]).await;
    assert_eq!(paused.leads_to(), page);
    assert!(get(&world, &page).await.ok().contains("Paused"));
    post(&world, &format!("{page}/resume"), &[]).await;
    assert!(get(&world, &page).await.ok().contains("Pending"));
}

#[tokio::test]
async fn errors_are_pages_for_people_and_json_for_programs() {
    let world = World::new("ada").await;
    let unknown = "/jobs/0199f3c1a2b37f0e8d1c2b3a49586776";
    let page = get(&world, unknown).await;
    assert_eq!(page.status.as_u16(), 404);
    let id = page.headers["x-request-id"].to_str().unwrap().to_owned();
    assert!(page.text.contains("<h1>Not found</h1>") && page.text.contains(&id));
    world.get(unknown).await.fails(404, 5);
    assert_eq!(get(&world, "/nowhere").await.status.as_u16(), 404);
    let tokens = World::with(pinpoint_service::SignIn::Tokens).await;
    let stranger = get(&tokens, "/").await;
    assert_eq!(stranger.status.as_u16(), 401);
    assert!(stranger.text.contains("<h1>Sign in</h1>"));
}

#[tokio::test]
async fn files_of_pages_are_kept_for_good() {
    let world = World::new("ada").await;
    let page = get(&world, "/?size=25").await.ok();
    let files: Vec<_> = page
        .split('"')
        .filter(|it| it.starts_with("/assets/"))
        .collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let page = get(&world, file).await;
        assert_eq!(page.status.as_u16(), 200, "{file}");
        let kept = page.headers["cache-control"].to_str().unwrap();
        assert!(kept.contains("immutable"), "{file}: {kept}");
    }
    assert_eq!(get(&world, "/assets/style.css").await.status.as_u16(), 404);
}

#[tokio::test]
async fn the_older_address_of_a_job_leads_to_its_page() {
    let world = World::new("ada").await;
    let old = "/results/jobid/0199f3c1-a2b3-7f0e-8d1c-2b3a49586776";
    let page = get(&world, old).await;
    let to = page.headers["location"].to_str().unwrap();
    assert_eq!(to, "/jobs/0199f3c1a2b37f0e8d1c2b3a49586776");
    assert_eq!(get(&world, "/results/jobid/a").await.status.as_u16(), 404);
}

/// The original sorts one page of the list, as text.
#[tokio::test]
async fn all_jobs_are_sorted_and_not_a_page_of_them() {
    let world = World::new("ada").await;
    for name in ["b", "C", "a", "D"].map(|it| it.repeat(3)) {
        for number in 0..4 {
            made(&world, &format!("{name} {number}")).await;
        }
    }
    let names = |text: &str| -> Vec<String> {
        let rows = text.split(r#"<th scope="row">"#).skip(1);
        let name = |row: &str| {
            row.split("<bdi>")
                .nth(1)?
                .split('<')
                .next()
                .map(str::to_owned)
        };
        rows.filter_map(name).collect()
    };
    let list = get(&world, "/?sort=name&size=10").await.ok();
    assert!(list.contains(r#"aria-sort="ascending""#));
    let expected = [
        "aaa 0", "aaa 1", "aaa 2", "aaa 3", "bbb 0", "bbb 1", "bbb 2", "bbb 3", "CCC 0", "CCC 1",
    ];
    assert_eq!(names(&list), expected);
    // The head leads to the other direction, from the start.
    assert!(
        list.contains(r#"href="/?sort=-name&amp;size=10""#),
        "{list}"
    );
    let back = get(&world, "/?sort=-name&size=10").await.ok();
    assert_eq!(names(&back)[0], "DDD 3");
    let next = list.split(r#"rel="next" href=""#).nth(1).unwrap();
    let next = next.split('"').next().unwrap().replace("&amp;", "&");
    let last = get(&world, &next).await.ok();
    assert_eq!(
        names(&last),
        ["CCC 2", "CCC 3", "DDD 0", "DDD 1", "DDD 2", "DDD 3"]
    );
    // To sort again is to begin again.
    assert!(
        last.contains(r#"href="/?sort=-name&amp;size=10""#),
        "{last}"
    );
    // A cursor fits only its order.
    let other = next.replace("sort=name", "sort=-name");
    assert_eq!(get(&world, &other).await.status.as_u16(), 400);
    assert_eq!(get(&world, "/?sort=other").await.status.as_u16(), 400);
}

/// Rows that change come over the stream of the list; new jobs are counted, and no row moves.
#[tokio::test]
async fn a_list_is_told_of_changes_and_new_jobs() {
    use futures_util::StreamExt;

    let world = World::new("ada").await;
    let id = made(&world, "Since Monday").await;
    let request = http::Request::get("/events?columns=name,status&size=25");
    let response = world
        .send(request.body(axum::body::Body::empty()).unwrap())
        .await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut stream = response.into_body().into_data_stream();
    // The first look, after a second, knows the jobs of the page.
    let later = async {
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        post(&world, &format!("/jobs/{id}/pause"), &[]).await;
        made(&world, "Since Tuesday").await;
    };
    let told = async {
        let mut told = String::new();
        while !(told.contains("event: row") && told.contains("event: new")) {
            let part = stream.next().await.expect("the stream goes on").unwrap();
            told.push_str(std::str::from_utf8(&part).unwrap());
        }
        told
    };
    let limit = std::time::Duration::from_secs(300);
    let (told, ()) = tokio::time::timeout(limit, async { tokio::join!(told, later) })
        .await
        .unwrap();
    assert!(
        told.contains("Paused") && told.contains("1 new job"),
        "{told}"
    );
    assert!(!told.contains("Since Tuesday"), "{told}");
}

#[tokio::test]
async fn jobs_are_sorted_by_story_by_bug_and_by_result() {
    let world = World::new("ada").await;
    for (name, story, bug) in [
        ("one", "small", Some(7)),
        ("two", "large", Some(12)),
        ("three", "small", None),
    ] {
        let mut job = json!({
            "bot": "lab", "benchmark": "parsing", "story": story, "name": name,
            "bisection": { "good": "a".repeat(40), "bad": "b".repeat(40) },
        });
        if let Some(bug) = bug {
            job["bugId"] = bug.into();
        }
        world.post("/api/v2/jobs", &job).await.ok();
    }
    let two = world.get("/api/v2/jobs?filter.text=two").await.ok();
    let two = JobId::parse(two["jobs"][0]["jobId"].as_str().unwrap()).unwrap();
    for (state, outcome) in [
        (JobState::Running, None),
        (
            JobState::Completed,
            Some(json!({ "status": "no_regression" })),
        ),
    ] {
        let set = world
            .store
            .jobs()
            .set_state(&two, state, None, outcome.as_ref());
        set.await.unwrap();
    }
    for (sort, expected) in [
        ("story", ["two", "one", "three"]),
        ("-story", ["three", "one", "two"]),
        ("-bug", ["two", "one", "three"]),
        ("bug", ["three", "one", "two"]),
        ("-result", ["two", "three", "one"]),
        ("result", ["one", "three", "two"]),
    ] {
        let list = get(&world, &format!("/?sort={sort}&size=10")).await.ok();
        let places = expected.map(|name| list.find(&format!("<bdi>{name}</bdi>")).unwrap());
        assert!(places.is_sorted(), "{sort}: {list}");
    }
}

#[tokio::test]
async fn a_name_of_a_thousand_letters_of_any_script_is_taken_and_found() {
    let world = World::new("ada").await;
    for letter in ["x", "ж", "ש", "語", "😀"] {
        let name = letter.repeat(1000);
        let id = made(&world, &name).await;
        let page = get(&world, &format!("/jobs/{id}")).await.ok();
        assert!(page.contains(&format!("<bdi>{name}</bdi>")), "{page}");
        let text: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
        let list = get(&world, &format!("/?text={text}&size=10")).await.ok();
        assert!(list.contains(&id), "{list}");
        let form = get(&world, &format!("/new?from={id}")).await.ok();
        assert!(form.contains(&format!("value=\"{name}\"")), "{form}");
        let longer = json!({
            "bot": "lab", "benchmark": "parsing", "story": "small", "name": format!("{name}{letter}"),
            "bisection": { "good": "a".repeat(40), "bad": "b".repeat(40) },
        });
        let refused = world.post("/api/v2/jobs", &longer).await.fails(400, 3);
        assert_eq!(refused, "name: it has more than 1000 characters");
    }
}

/// The original leads to the result pages of another host, and spells the canceled state in three
/// ways.
#[tokio::test]
async fn links_stay_on_this_host_and_a_state_has_one_name() {
    let world = World::new("ada").await;
    let id = made(&world, "Since Monday").await;
    let path = format!("/jobs/{id}");
    post(
        &world,
        &format!("{path}/cancel"),
        &[("reason", "fixed in main")],
    )
    .await;
    for path in ["/?size=25", "/?state=canceled&size=25", &path] {
        let page = get(&world, path).await.ok();
        let links: Vec<_> = page.split(" href=\"").skip(1).collect();
        assert!(links.len() > 10, "{page}");
        for link in links {
            assert!(
                link.starts_with(['/', '#']) && !link.starts_with("//"),
                "{path}: {link}"
            );
        }
        assert!(page.contains(">Canceled</span>"), "{path}: {page}");
        assert!(!page.to_lowercase().contains("cancelled"), "{path}: {page}");
    }
    // Users of existing jobs are suggested.
    let list = get(&world, "/?size=25").await.ok();
    assert!(
        list.contains(r#"<datalist id="users"><option value="ada"></datalist>"#),
        "{list}"
    );
}
