//! One read at a time: its requests, and the effects of the answers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pinpoint_backends::cas::{Cas, CasError, CasOptions, Digest, TransferError};
use pinpoint_backends::google::{Backoff, TokenSource, Tokens};
use pinpoint_core::SplitMix64;
use tonic::Code;

use super::fake::{Fake, Fault, Nowhere, Settings};
use super::world::Folder;

const MB: usize = 1 << 20;

/// The same for a size, and hardly compressible.
fn content(size: usize) -> Bytes {
    let mut random = SplitMix64::new(size as u64);
    (0..size).map(|_| random.below(200) as u8).collect()
}

#[tokio::test]
async fn files_of_every_size_are_read() {
    for has_zstd in [false, true] {
        let fake = Fake::start(Settings::zstd(has_zstd)).await;
        let cas = fake.client();
        for size in [0, 1, 1000, MB - 1, MB, MB + 1, 5 * MB] {
            let digest = fake.add(content(size));
            let read = cas.read(&digest, 5 << 20).await.unwrap();
            assert!(read == content(size), "{size} bytes");
        }
        let digest = fake.add(content(1001));
        assert!(matches!(
            cas.read(&digest, 1000).await,
            Err(CasError::TooLarge { limit: 1000, .. })
        ));
    }
}

#[tokio::test]
async fn a_file_that_is_not_there_is_missing_at_once() {
    let fake = Fake::start(Settings::default()).await;
    let cas = fake.client();
    for size in [1000, 2 * MB] {
        let digest = Digest::of(&content(size));
        let error = cas.read(&digest, u64::MAX).await.unwrap_err();
        assert!(matches!(error, CasError::Missing(missing) if missing == digest));
        let error = cas.tree(&digest).await.unwrap_err();
        assert!(matches!(error, CasError::Missing(missing) if missing == digest));
    }
    assert_eq!(fake.count("BatchReadBlobs"), 1);
    assert_eq!(fake.count("Read "), 1);
    assert_eq!(fake.count("GetTree"), 2);
    assert_eq!(fake.count("GetCapabilities"), 1);
}

/// The offsets of the reads.
fn offsets(fake: &Fake) -> Vec<usize> {
    let requests = fake.requests.lock().unwrap();
    let reads = requests.iter().filter_map(|it| it.strip_prefix("Read "));
    reads
        .map(|read| read.rsplit_once(" from ").unwrap().1.parse().unwrap())
        .collect()
}

#[tokio::test]
async fn a_cut_stream_goes_on_at_its_offset() {
    for has_zstd in [false, true] {
        let fake = Fake::start(Settings::zstd(has_zstd)).await;
        fake.fail_once([
            Fault::None,
            Fault::Cut(0.5, Some(Code::Unavailable)),
            Fault::Cut(0.5, None),
            Fault::Status(Code::Internal),
        ]);
        let digest = fake.add(content(5 * MB));
        // Two repetitions are enough, since the first two tries bring something.
        let two = |options: &mut CasOptions| options.backoff.retries = 2;
        let cas = fake.client_with(two, TokenSource::None);
        let read = cas.read(&digest, u64::MAX).await.unwrap();
        assert!(read == content(5 * MB));
        let offsets = offsets(&fake);
        assert_eq!(offsets.len(), 4, "{offsets:?}");
        assert!(offsets[0] == 0 && offsets[1] > 0 && offsets[2] > offsets[1]);
        assert_eq!(offsets[3], offsets[2]);
    }
}

#[tokio::test]
async fn other_content_is_asked_for_again_and_uncompressed() {
    let fake = Fake::start(Settings::default()).await;
    fake.fail_once([Fault::None, Fault::Bent, Fault::Long]);
    let digest = fake.add(content(2 * MB));
    let cas = fake.client();
    assert!(cas.read(&digest, u64::MAX).await.unwrap() == content(2 * MB));
    assert_eq!(offsets(&fake), [0, 0, 0]);
    let requests = fake.requests.lock().unwrap().join("\n");
    assert_eq!(requests.matches("compressed-blobs/zstd").count(), 1);
}

#[tokio::test]
async fn content_that_stays_another_is_given_up() {
    let fake = Fake::start(Settings::default()).await;
    let few = |options: &mut CasOptions| options.backoff.retries = 2;
    let cas = fake.client_with(few, TokenSource::None);
    for size in [1000, 2 * MB] {
        let digest = fake.add(content(size));
        // The store itself is damaged.
        let other = content(size).iter().rev().copied().collect();
        fake.blobs.lock().unwrap().insert(digest.hash(), other);
        let error = cas.read(&digest, u64::MAX).await.unwrap_err();
        let CasError::GaveUp { tries, trouble, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*tries, 3);
        assert!(
            matches!(trouble, TransferError::OtherContent { digest: other, .. } if *other == digest)
        );
    }
}

#[tokio::test]
async fn a_silent_store_is_asked_again() {
    let fake = Fake::start(Settings::default()).await;
    fake.fail_once([
        Fault::Silent,
        Fault::None,
        Fault::Silent,
        Fault::None,
        Fault::Silent,
    ]);
    let short = |options: &mut CasOptions| options.patience = Duration::from_millis(300);
    let cas = fake.client_with(short, TokenSource::None);
    for size in [1000, 2 * MB] {
        let digest = fake.add(content(size));
        assert!(cas.read(&digest, u64::MAX).await.unwrap() == content(size));
    }
    assert!(fake.once.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_refusal_is_not_repeated() {
    for code in [
        Code::PermissionDenied,
        Code::InvalidArgument,
        Code::DataLoss,
    ] {
        let fake = Fake::start(Settings::default()).await;
        fake.fail_once([Fault::None, Fault::Status(code)]);
        let digest = fake.add(content(1000));
        let error = fake.client().read(&digest, 1000).await.unwrap_err();
        assert!(
            matches!(
                &error,
                CasError::Refused {
                    method: "BatchReadBlobs",
                    ..
                }
            ),
            "{error}"
        );
        assert!(error.to_string().ends_with(": later"), "{error}");
        assert_eq!(fake.count("BatchReadBlobs"), 1);
    }
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let settings = Settings {
        token: Some("good"),
        ..Settings::default()
    };
    let fake = Fake::start(settings).await;
    let digest = fake.add(content(1000));
    let place = tempfile::tempdir().unwrap();
    let mark = place.path().join("mark");
    let script = format!(
        "if [ -e '{0}' ]; then echo good; else echo stale; touch '{0}'; fi",
        mark.display()
    );
    let shell = |script: &str| TokenSource::Command(vec!["sh".into(), "-c".into(), script.into()]);
    let cas = fake.client_with(|_| {}, shell(&script));
    assert!(cas.read(&digest, 1000).await.unwrap() == content(1000));
    assert_eq!(fake.count("GetCapabilities"), 2);

    let cas = fake.client_with(|_| {}, shell("echo secret-that-is-stale"));
    let error = cas.read(&digest, 1000).await.unwrap_err();
    assert_eq!(fake.count("GetCapabilities"), 4);
    let text = format!("{error} {error:?} {cas:?}");
    assert!(text.contains("UNAUTHENTICATED: who is there?"), "{text}");
    assert!(!text.contains("secret-that"), "{text}");
    let cas = fake.client_with(|_| {}, shell("exit 3"));
    let error = cas.read(&digest, 1000).await.unwrap_err();
    assert!(matches!(error, CasError::Token(_)), "{error}");
}

#[tokio::test]
async fn addresses_are_checked() {
    let source = || TokenSource::Command(vec!["echo".into(), "token".into()]);
    let open = |address: &str, source: TokenSource| {
        let tokens = Tokens::new(source, &["a"], Arc::new(Nowhere));
        Cas::new(CasOptions::at(address, ""), tokens)
    };
    for address in [
        "",
        "store",
        "ftp://store",
        "https://",
        "unix:/store",
        "http://a b",
        "https://me:hidden@store",
        "https://store?key=hidden",
        "https://store#hidden",
    ] {
        let error = open(address, TokenSource::None).unwrap_err();
        assert!(matches!(error, CasError::Address(_)), "{address}: {error}");
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
    let error = open("http://store.example:8980", source()).unwrap_err();
    assert!(error.to_string().contains("without HTTPS"), "{error}");
    for address in [
        "http://127.0.0.1:1",
        "http://[::1]:1",
        "http://localhost:1",
        "https://store",
    ] {
        open(address, source()).unwrap();
    }
    open("http://store.example:8980", TokenSource::None).unwrap();
    // Nothing listens there.
    let mut options = CasOptions::at("http://127.0.0.1:1", "");
    options.backoff = Backoff::NEVER;
    let tokens = Tokens::new(TokenSource::None, &["a"], Arc::new(Nowhere));
    let cas = Cas::new(options, tokens).unwrap();
    let error = cas.read(&Digest::of(b"a"), 1).await.unwrap_err();
    assert!(error.to_string().contains("onnection refused"), "{error}");
}

#[tokio::test]
async fn a_tree_is_read_by_itself_where_the_store_leaves_parts_out() {
    let folder = Folder::default()
        .with("a/b/c/file", "1")
        .with("a/b/file", "2")
        .with("d/file", "3");
    for page in [0, 1, 100] {
        let settings = Settings {
            page,
            ..Settings::default()
        };
        let fake = Fake::start(settings).await;
        let root = folder.store(&mut |content| fake.add(content));
        fake.fail_once([Fault::Left]);
        assert_eq!(fake.client().tree(&root).await.unwrap(), folder.tree());
        assert_eq!(fake.client().tree(&root).await.unwrap(), folder.tree());
    }
}

#[tokio::test]
async fn no_more_requests_are_under_way_than_allowed() {
    let settings = Settings {
        hold: 3,
        ..Settings::default()
    };
    let fake = Fake::start(settings).await;
    let mut folder = Folder::default();
    for index in 0..8 {
        let mut file = content(MB + 1).to_vec();
        file[0] = index;
        folder = folder.with(&format!("{index}"), file);
    }
    let root = folder.store(&mut |content| fake.add(content));
    let three = |options: &mut CasOptions| options.at_once = 3;
    let cas = fake.client_with(three, TokenSource::None);
    let place = tempfile::tempdir().unwrap();
    let paths = [place.path().join("a"), place.path().join("b")];
    let (a, b) = tokio::join!(
        cas.download(&root, &paths[0]),
        cas.download(&root, &paths[1])
    );
    assert_eq!(a.unwrap(), b.unwrap());
    folder.assert_at(&paths[1]);
    let most = fake
        .most_under_way
        .load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(most, 3);
    // Existing files are not overwritten.
    let error = cas.download(&root, &paths[0]).await.unwrap_err();
    assert!(matches!(error, CasError::File { .. }), "{error}");
    folder.assert_at(&paths[0]);
}

#[tokio::test]
async fn the_results_of_a_benchmark_are_found() {
    let fake = Fake::start(Settings::default()).await;
    let cas = fake.client();
    let results = r#"[{"name": "Score", "unit": "unitless_biggerIsBetter", "sampleValues": [3, 4],
          "diagnostics": {"stories": {"values": ["a"]}}},
        {"name": "Score", "unit": "unitless_biggerIsBetter", "sampleValues": [5],
          "diagnostics": {"stories": {"values": ["b"]}}}]"#;
    let folder = Folder::default()
        .with("speedometer3/perf_results.json", results)
        .with("speedometer3/artifacts/trace.pb", content(2 * MB))
        .with("broken/perf_results.json", "[")
        .with("output.json", "{}");
    let root = folder.store(&mut |content| fake.add(content));
    let charts = cas.perf_results(&root, "speedometer3").await.unwrap();
    assert_eq!(charts["Score"].values, [3.0, 4.0, 5.0]);
    let error = cas.perf_results(&root, "broken").await.unwrap_err();
    assert!(matches!(error, CasError::Results { .. }), "{error}");
    let error = cas.perf_results(&root, "motionmark").await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("motionmark/perf_results.json; there is broken/perf_results.json"),
        "{text}"
    );
    // The traces were not fetched.
    assert_eq!(fake.count("Read "), 0);
}
