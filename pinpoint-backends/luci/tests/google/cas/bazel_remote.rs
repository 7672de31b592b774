//! bazel-remote, an independent store.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pinpoint_backends::cas::{Cas, CasError, CasOptions, Digest};
use pinpoint_backends::google::{TokenSource, Tokens, Transport, Web};
use pinpoint_core::SplitMix64;

use super::world::Folder;
use crate::programs::program;

const NEEDED: &str = "at the root, `bash .ci/go \"$PWD/target/go\" bazel-remote`; or its path in \
                      PINPOINT_TEST_BAZEL_REMOTE";

/// A bazel-remote on loopback, which ends with this value.
struct BazelRemote {
    child: Child,
    http: u16,
    grpc: u16,
    folder: tempfile::TempDir,
    web: Web,
}

impl Drop for BazelRemote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        #[allow(clippy::disallowed_methods, reason = "it was killed")]
        let _ = self.child.wait();
    }
}

impl BazelRemote {
    async fn start(storage: &str) -> Self {
        // Another process may take a port before it does.
        for _ in 0..5 {
            if let Some(started) = Self::try_start(storage).await {
                return started;
            }
        }
        panic!("bazel-remote finds no port");
    }

    async fn try_start(storage: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let sockets = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [http, grpc] = sockets.map(|socket| socket.local_addr().unwrap().port());
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let program = program("go/bazel-remote", "PINPOINT_TEST_BAZEL_REMOTE");
        let child = Command::new(&program)
            .arg("--dir")
            .arg(folder.path().join("store"))
            .args(["--max_size", "1", "--access_log_level", "none"])
            .args(["--storage_mode", storage])
            .args(["--http_address", &format!("127.0.0.1:{http}")])
            .args(["--grpc_address", &format!("127.0.0.1:{grpc}")])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; {NEEDED}", program.display()));
        let mut started = Self {
            child,
            http,
            grpc,
            folder,
            web: Web::new().unwrap(),
        };
        loop {
            if started.child.try_wait().unwrap().is_some() {
                return None;
            }
            let is_there = tokio::net::TcpStream::connect(("127.0.0.1", grpc)).await;
            if is_there.is_ok() && started.request("GET", "/status", Bytes::new()).await == 200 {
                return Some(started);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn request(&self, method: &str, path: &str, body: Bytes) -> u16 {
        let request = http::Request::builder()
            .method(method)
            .uri(format!("http://127.0.0.1:{}{path}", self.http))
            .body(body.to_vec())
            .unwrap();
        let answer = self.web.send(request, 1 << 20).await;
        answer.map_or(0, |answer| answer.status().as_u16())
    }

    async fn store(&self, folder: &Folder) -> Digest {
        let mut all = Vec::new();
        let root = folder.store(&mut |content: Bytes| {
            let digest = Digest::of(&content);
            all.push((digest, content));
            digest
        });
        for (digest, content) in all {
            let path = format!("/cas/{}", digest.hash());
            assert_eq!(self.request("PUT", &path, content).await, 200);
        }
        root
    }

    fn client(&self) -> Cas {
        let options = CasOptions::at(&format!("http://127.0.0.1:{}", self.grpc), "any");
        let tokens = Tokens::new(TokenSource::None, &["a"], Arc::new(self.web.clone()));
        Cas::new(options, tokens).unwrap()
    }
}

async fn trees_are_read(storage: &str) {
    let store = BazelRemote::start(storage).await;
    let cas = store.client();
    let place = tempfile::tempdir().unwrap();
    for seed in 0..6 {
        let mut random = SplitMix64::new(seed);
        let mut folder = Folder::random(&mut random, 3);
        // Longer than any message.
        let long: Vec<u8> = (0..6_000_000).map(|_| random.below(50) as u8).collect();
        folder.files.insert("long".into(), (long.into(), false));
        let root = store.store(&folder).await;
        let target = place.path().join(seed.to_string());
        let tree = cas.download(&root, &target).await.unwrap();
        assert_eq!(tree, folder.tree());
        folder.assert_at(&target);
    }
    let missing = Digest::of(b"nobody stored this");
    for error in [
        cas.read(&missing, 100).await.unwrap_err(),
        cas.tree(&missing).await.unwrap_err(),
    ] {
        assert!(
            matches!(error, CasError::Missing(found) if found == missing),
            "{error}"
        );
    }
    let folder = Folder::default().with("a/file", "x").with("b/file", "y");
    let mut inner = None;
    folder.folders["a"].store(&mut |content| {
        inner = Some(Digest::of(&content));
        Digest::of(&content)
    });
    let mut all = Vec::new();
    let root = folder.store(&mut |content| {
        all.push(content.clone());
        Digest::of(&content)
    });
    for content in all {
        let digest = Digest::of(&content);
        if Some(digest) != inner {
            let path = format!("/cas/{}", digest.hash());
            assert_eq!(store.request("PUT", &path, content).await, 200);
        }
    }
    // It silently leaves out missing directories.
    let error = cas.tree(&root).await.unwrap_err();
    assert!(
        matches!(error, CasError::Missing(found) if Some(found) == inner),
        "{error}"
    );
    assert!(store.folder.path().exists());
}

#[tokio::test]
#[ignore = "needs bazel-remote: the test says how to build it"]
async fn trees_are_read_from_a_compressed_store() {
    trees_are_read("zstd").await;
}

#[tokio::test]
#[ignore = "needs bazel-remote: the test says how to build it"]
async fn trees_are_read_from_an_uncompressed_store() {
    trees_are_read("uncompressed").await;
}
