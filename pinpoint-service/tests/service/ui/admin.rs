//! The page of administrators.

use pinpoint_backends::store::AuditEntry;
use pinpoint_service::SignIn;
use pinpoint_service::config::{Limit, LimitsConfig};

use super::jobs::made;
use super::people::Person;
use super::{get, post};
use crate::provider::Provider;
use crate::sign_in::{oidc, ways};
use crate::world::{BOTS, World};

async fn log(world: &World, user: &str, operation: &str) {
    let entry = AuditEntry {
        user: user.into(),
        operation: operation.into(),
        result: "ok".into(),
        ..AuditEntry::default()
    };
    world.store.audit().append(&entry).await.unwrap();
}

#[tokio::test]
async fn roles_and_limits_are_those_of_the_configuration() {
    let provider = Provider::start().await;
    let world = World::with(ways(&oidc(&provider))).await;
    let admin = Person::new(&world, "ada@admins.example.org").await;
    let text = admin.get("/admin?from=").await.ok();
    for member in [
        "viewer@example.org",
        "group:editors",
        "domain:admins.example.org",
    ] {
        assert!(text.contains(member), "{member}: {text}");
    }
    let editor = Person::new(&world, "editor@example.org").await;
    assert_eq!(editor.get("/admin").await.status, 403);
    assert!(!editor.get("/workers").await.ok().contains("/admin"));

    let mut limits = LimitsConfig {
        runs_a_day: Limit::new(12_345),
        ..LimitsConfig::none()
    };
    let own = pinpoint_service::config::OwnLimits {
        streams: Some(Limit::new(77)),
        ..Default::default()
    };
    limits.users.insert("ci@example.org".into(), own);
    let world = World::limited(SignIn::Nobody("ada".into()), BOTS, limits).await;
    let text = get(&world, "/admin?from=").await.ok();
    for shown in [
        "12345",
        "ci@example.org",
        ">77<",
        "no limit",
        "No roles are configured",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
}

#[tokio::test]
async fn the_log_is_filtered_and_paged_and_its_address_says_so() {
    let world = World::new("ada").await;
    let path = get(&world, "/admin").await.leads_to().to_owned();
    assert!(path.starts_with("/admin?from=2"), "{path}");
    assert!(get(&world, &path).await.ok().contains("No entries match."));
    for number in 0..150 {
        log(&world, "bo", &format!("operation {number:03}")).await;
    }
    let id = made(&world, "A job").await;
    let first = get(&world, "/admin?user=bo").await.ok();
    assert!(first.contains("operation 099") && !first.contains("operation 100"));
    let next = first.split(r#"rel="next" href=""#).nth(1).unwrap();
    let next = next.split('"').next().unwrap().replace("&amp;", "&");
    let second = get(&world, &next).await.ok();
    assert!(second.contains("operation 100") && second.contains("operation 149"));
    assert!(!second.contains("CreateJob") && !second.contains(r#"rel="next""#));
    let of_job = get(&world, &format!("/admin?job={id}")).await.ok();
    let link = format!(r#"<a href="/jobs/{id}">{id}</a>"#);
    assert!(
        of_job.contains("CreateJob") && of_job.contains(&link),
        "{of_job}"
    );
    let one = get(&world, "/admin?operation=operation+007").await.ok();
    assert!(one.contains("operation 007") && !one.contains("operation 008"));
    let early = get(&world, "/admin?to=2020-01-01").await.ok();
    assert!(early.contains("No entries match."), "{early}");
    for bad in [
        "from=soon",
        "from=2024-02-02&to=2024-02-01",
        "job=x",
        "page=x",
    ] {
        let refused = get(&world, &format!("/admin?{bad}")).await;
        assert_eq!(refused.status, 400, "{bad}: {}", refused.text);
    }
}

#[tokio::test]
async fn the_log_is_verified_at_the_press_of_a_button() {
    let world = World::new("ada").await;
    let empty = post(&world, "/admin/verify", &[]).await.ok();
    assert!(empty.contains("0 rows"), "{empty}");
    for number in 0..3 {
        log(&world, "bo", &number.to_string()).await;
    }
    let whole = post(&world, "/admin/verify", &[]).await.ok();
    assert!(
        whole.contains("3 rows") && whole.contains("Intact"),
        "{whole}"
    );
    let file = world.directory.path().join("pinpoint.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.unwrap();
    let forged = sqlx::query("UPDATE audit SET username = 'eve' WHERE number = 2");
    forged.execute(&mut connection).await.unwrap();
    let broken = post(&world, "/admin/verify", &[]).await.ok();
    assert!(broken.contains("Row 2 was altered"), "{broken}");
}
