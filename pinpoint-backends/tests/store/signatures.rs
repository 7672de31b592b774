//! Signed jobs, and workers that take only those.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use pinpoint_backends::store::{
    Creation, JobFilter, JobId, KeyError, NewJob, PublicKey, Signature, SigningKey,
};
use serde_json::json;

use crate::common::{Fixture, new_job};
use crate::on_both;

on_both! {
    a_worker_takes_the_jobs_that_are_signed_with_a_key_it_trusts,
    a_signature_fits_a_job_as_it_was,
    a_signature_fits_no_other_job,
    a_signature_goes_with_its_job,
}

const LONG: Duration = Duration::from_secs(3600);

fn key(fixture: &Fixture, name: &str) -> SigningKey {
    SigningKey::create(&fixture.directory.path().join(name)).unwrap()
}

fn job() -> NewJob {
    NewJob {
        name: "nightly".into(),
        benchmark: "sort".into(),
        bot: "lab".into(),
        user: "ada".into(),
        // Numbers and the order of fields stay as the creator wrote them.
        spec: json!({ "z": 0.1, "a": [1.5e300, -0.0, 18_446_744_073_709_551_615_u64] }),
        config: json!({ "by_workers": true, "local": { "env": { "B": "ä\n", "A": "\0" } } }),
        ..new_job("a job")
    }
}

async fn create(fixture: &Fixture, key: Option<&SigningKey>) -> JobId {
    let creation = Creation {
        key,
        ..Creation::default()
    };
    let created = fixture.store.jobs().create_with(&job(), &creation).await;
    created.unwrap().id
}

async fn take(fixture: &Fixture, trusted: &[PublicKey]) -> Option<JobId> {
    let filter = JobFilter::default();
    let taken = fixture
        .store
        .leases()
        .take_signed(&filter, trusted, "ada", LONG)
        .await;
    taken.unwrap().map(|(job, _)| job.id)
}

async fn signatures(fixture: &Fixture, id: &JobId) -> Vec<Signature> {
    let job = fixture.store.jobs().get(id).await.unwrap();
    fixture.store.signatures().list(&job).await.unwrap()
}

async fn a_worker_takes_the_jobs_that_are_signed_with_a_key_it_trusts(fixture: Fixture) {
    let (ada, bob, eve) = (
        key(&fixture, "ada"),
        key(&fixture, "bob"),
        key(&fixture, "eve"),
    );
    let unsigned = create(&fixture, None).await;
    let by_eve = create(&fixture, Some(&eve)).await;
    let altered = create(&fixture, Some(&ada)).await;
    let alter = format!("UPDATE jobs SET config = '{{}}' WHERE id = '{altered}'");
    fixture.behind_its_back(&alter).await;
    let damaged = create(&fixture, Some(&ada)).await;
    let damage = format!("UPDATE jobs SET spec = '{{' WHERE id = '{damaged}'");
    fixture.behind_its_back(&damage).await;
    let by_ada = create(&fixture, Some(&ada)).await;
    let by_bob = create(&fixture, Some(&bob)).await;
    let trusted = [bob.public(), ada.public()];
    assert_eq!(take(&fixture, &[]).await, None);
    // Earlier ones delay nothing, and stay unchanged.
    assert_eq!(take(&fixture, &trusted).await, Some(by_ada));
    assert_eq!(take(&fixture, &trusted).await, Some(by_bob));
    assert_eq!(take(&fixture, &trusted).await, None);
    let before = fixture.store.queue().waiting_before(&by_eve, None).await;
    assert_eq!(before.unwrap(), Some(1));
    let before = fixture
        .store
        .queue()
        .waiting_before(&altered, Some(&trusted))
        .await;
    assert_eq!(before.unwrap(), Some(0));

    // Someone trusted signs it after all.
    let job = fixture.store.jobs().get(&unsigned).await.unwrap();
    for _ in 0..2 {
        fixture.store.signatures().sign(&job, &ada).await.unwrap();
    }
    fixture.store.signatures().sign(&job, &eve).await.unwrap();
    assert_eq!(signatures(&fixture, &unsigned).await.len(), 2);
    assert_eq!(take(&fixture, &trusted).await, Some(unsigned));
}

async fn a_signature_fits_a_job_as_it_was(fixture: Fixture) {
    let ada = key(&fixture, "ada");
    let id = create(&fixture, Some(&ada)).await;
    let fits = async || {
        let signatures = signatures(&fixture, &id).await;
        assert_eq!(signatures.len(), 1);
        assert_eq!(signatures[0].key, ada.public());
        signatures[0].fits
    };
    assert!(fits().await);
    let stored = fixture.store.jobs().get(&id).await.unwrap();
    let text = |text: &str| format!("'{text}'");
    for (column, altered, original) in [
        ("kind", text("pairwise"), text(&stored.kind)),
        ("title", text("another"), text(&stored.title)),
        ("repository", text("/tmp"), text(&stored.repository)),
        ("name", text("n"), text("nightly")),
        ("benchmark", text("b"), text("sort")),
        ("bot", text("desk"), text("lab")),
        ("username", text("eve"), text("ada")),
        ("created", "5".into(), stored.created.to_string()),
        (
            "spec",
            text(&stored.spec.to_string().replace("0.1", "0.2")),
            text(&stored.spec.to_string()),
        ),
        (
            "config",
            text(&stored.config.to_string().replace('B', "C")),
            text(&stored.config.to_string()),
        ),
    ] {
        let set = |value: &str| format!("UPDATE jobs SET {column} = {value} WHERE number = number");
        fixture.behind_its_back(&set(&altered)).await;
        assert!(!fits().await, "{column}");
        assert_eq!(take(&fixture, &[ada.public()]).await, None, "{column}");
        fixture.behind_its_back(&set(&original)).await;
        assert!(fits().await, "{column}");
    }
    let cut = "UPDATE job_files SET content = substr(content, 1, 9)";
    fixture.behind_its_back(cut).await;
    assert!(!fits().await);
}

async fn a_signature_fits_no_other_job(fixture: Fixture) {
    let ada = key(&fixture, "ada");
    let signed = create(&fixture, Some(&ada)).await;
    let other = create(&fixture, None).await;
    let copy = format!(
        "INSERT INTO job_files (job, name, sequence, size, content) \
         SELECT (SELECT number FROM jobs WHERE id = '{other}'), name, sequence, size, content \
         FROM job_files WHERE job = (SELECT number FROM jobs WHERE id = '{signed}')"
    );
    fixture.behind_its_back(&copy).await;
    let found = signatures(&fixture, &other).await;
    assert_eq!((found.len(), found[0].fits), (1, false));
    assert_eq!(take(&fixture, &[ada.public()]).await, Some(signed));
    assert_eq!(take(&fixture, &[ada.public()]).await, None);
}

async fn a_signature_goes_with_its_job(fixture: Fixture) {
    let ada = key(&fixture, "ada");
    let id = create(&fixture, Some(&ada)).await;
    let mut export = Vec::new();
    let filter = JobFilter::default();
    fixture
        .store
        .exchange()
        .export(&filter, &mut export)
        .await
        .unwrap();
    let other = Fixture::new().await;
    let imported = other
        .store
        .exchange()
        .import(&mut &*export, &|_| Ok(()))
        .await;
    assert_eq!(imported.unwrap().added, 1);
    assert!(signatures(&other, &id).await[0].fits);
    // A user still has to allow it here.
    assert_eq!(take(&other, &[ada.public()]).await, None);
    other.store.jobs().trust(&id).await.unwrap();
    assert_eq!(take(&other, &[ada.public()]).await, Some(id));
}

#[test]
fn keys_are_files_that_only_their_owners_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let key = SigningKey::create(&path("key")).unwrap();
    let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("key"), 0o600);
    let public = key.public();
    assert_eq!(SigningKey::read(&path("key")).unwrap().public(), public);
    assert_ne!(SigningKey::create(&path("other")).unwrap().public(), public);
    assert_eq!(public.to_string().parse::<PublicKey>().unwrap(), public);
    let secret = fs::read_to_string(path("key")).unwrap();
    let secret = secret.trim().split_once(':').unwrap().1.to_owned();
    assert!(!format!("{key:?}").contains(&secret));
    let again = SigningKey::create(&path("key"));
    assert!(matches!(again, Err(KeyError::File { .. })), "{again:?}");

    fs::set_permissions(path("key"), Permissions::from_mode(0o640)).unwrap();
    let exposed = SigningKey::read(&path("key")).unwrap_err();
    assert!(exposed.to_string().contains("mode 640"), "{exposed}");

    let keys = format!("# the team\n\n{public} ada@desk\n  {public}\n");
    fs::write(path("keys"), keys).unwrap();
    assert_eq!(PublicKey::read_all(&path("keys")).unwrap(), [public; 2]);
    let short = format!("ed25519:{}", &public.to_string()[12..]);
    let signing = fs::read_to_string(path("other")).unwrap();
    for (content, told) in [
        ("", "holds no public key"),
        ("# only remarks\n", "holds no public key"),
        ("garbage", "line 1: \"garbage\" is not a public key"),
        (&*short, "line 1"),
        (&signing, "line 1: \"ed25519-signing-key:…\" is not"),
    ] {
        fs::write(path("wrong"), content).unwrap();
        let error = PublicKey::read_all(&path("wrong")).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    for (content, told) in [
        (&b""[..], "holds no signing key"),
        (b"garbage", "holds no signing key"),
        (b"\xff\xfe", "holds no key"),
        (b"ed25519-signing-key:AAAA", "holds no signing key"),
        (public.to_string().as_bytes(), "but a public key"),
    ] {
        fs::write(path("wrong"), content).unwrap();
        let error = SigningKey::read(&path("wrong")).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let missing = SigningKey::read(&path("missing")).unwrap_err();
    assert!(missing.to_string().contains("missing"), "{missing}");
}
