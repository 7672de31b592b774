//! The form as a command line and as `curl`.

use std::process::Command;

use pinpoint_service::SignIn;
use serde_json::Value;

use super::*;

/// The words that a shell makes of the command of a page.
pub(super) fn words(page: &str, program: &str) -> Vec<String> {
    let command = page
        .split("<pre>")
        .find(|it| it.starts_with(program))
        .unwrap();
    let command = command.split("</pre>").next().unwrap();
    let command = command
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    let command = command.replace("&amp;", "&");
    let script = format!("{program}() {{ printf '%s\\0' \"$@\"; }}\n{command}");
    let shell = Command::new("sh")
        .arg("-c")
        .arg(script)
        .env("PINPOINT_TOKEN", "T")
        .output();
    let text = String::from_utf8(shell.unwrap().stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[tokio::test]
async fn the_form_is_a_command_that_a_shell_reads_as_it_was_typed() {
    let world = world().await;
    let (good, bad) = (good(), bad());
    let name = "it's \"$(id)\" `id` \\ !x <b>&amp;";
    let part = async |fields: &[(&str, &str)]| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let path = format!("/new/commands?{}", query.extend_pairs(fields).finish());
        get(&world, &path).await.ok()
    };
    let page = part(&[
        ("kind", "bisection"),
        ("name", name),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "small"),
        ("chart", "--build=rm"),
        ("good", &good),
        ("bad", &bad),
        ("magnitude", "5%"),
        ("max_time", "20m"),
    ])
    .await;
    let expected = [
        "bisect",
        &good,
        &bad,
        "--magnitude=5%",
        "--max-time=1200s",
        "--chart=--build=rm",
        "--build=make 'all of it'",
        "--format=lines",
        "--timeout=10m",
        "--benchmark=parsing",
        &format!("--name={name}"),
        "--env=SECRET",
        "--",
        "./bench",
        "small",
    ];
    assert_eq!(words(&page, "pinpoint"), expected);
    assert!(!page.contains("s3cr3t"));
    let curl = words(&page, "curl");
    assert_eq!(curl.last().unwrap(), "http://localhost/api/v2/jobs");
    let body: Value = serde_json::from_str(&curl[curl.len() - 2]).unwrap();
    assert_eq!(body["name"], name);
    // It makes the job.
    let made = world.post("/api/v2/jobs", &body).await.ok();
    assert_eq!(
        made["arguments"]["bisection"]["magnitude"],
        json!({ "percent": 5.0 })
    );

    let page = part(&[
        ("kind", "try"),
        ("bot", "lab"),
        ("benchmark", "parsing"),
        ("story", "small"),
        ("base", &good),
        ("experiment_runner_args", "--repeat='1 2'"),
        ("early_stopping", "yes"),
    ])
    .await;
    let expected = [
        "pairwise",
        &good,
        &good,
        "--experiment-arg=--repeat=1 2",
        "--pairs=30",
        "--build=make 'all of it'",
    ];
    let shown = words(&page, "pinpoint");
    assert_eq!(shown[..6], expected);
    assert!(shown.contains(&"--early-stop".to_owned()));
    // A form by another user says nothing unchecked.
    for (name, hostile) in [
        ("good", "--build=rm"),
        ("story", "--build=rm"),
        ("bot", "unheard"),
    ] {
        let mut fields = vec![
            ("kind", "bisection"),
            ("bot", "lab"),
            ("benchmark", "parsing"),
            ("story", "small"),
            ("good", &*good),
            ("bad", &*bad),
        ];
        fields.retain(|field| field.0 != name);
        fields.push((name, hostile));
        assert!(!part(&fields).await.contains("<pre>"), "{name}");
    }
}

#[tokio::test]
async fn a_command_for_a_service_with_sign_in_takes_its_token_from_the_environment() {
    let world = World::with(SignIn::Tokens).await;
    let token = format!("Bearer {}", world.token("ada", &["editor"]).await);
    let path = format!(
        "/new/commands?kind=try&bot=lab&benchmark=parsing&story=small&base={}",
        good()
    );
    let headers = [("authorization", &*token), ("host", "perf.example.org")];
    let page = world
        .send_with("GET", &path, &headers, &Value::Null)
        .await
        .ok();
    let curl = words(page.as_str().unwrap(), "curl");
    assert!(
        curl.contains(&"Authorization: Bearer T".to_owned()),
        "{curl:?}"
    );
    assert_eq!(curl.last().unwrap(), "https://perf.example.org/api/v2/jobs");
}
