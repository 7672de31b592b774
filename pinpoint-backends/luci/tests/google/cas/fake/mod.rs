//! A content-addressed store in this process that is strict about requests, and fails by seed.

mod services;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use pinpoint_backends::cas::{Cas, CasOptions, Digest};
use pinpoint_backends::google::{Backoff, TokenSource, Tokens, Transport, TransportError};
use pinpoint_core::SplitMix64;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, Request, Status};

use super::messages::capabilities_server::CapabilitiesServer;
use super::messages::content_addressable_storage_server::ContentAddressableStorageServer;
use super::messages::google::bytestream::byte_stream_server::ByteStreamServer;
use super::messages::{self, Directory};

pub(crate) const INSTANCE: &str = "projects/a/instances/default_instance";

/// The features and the faults of the store.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) has_zstd: bool,
    /// The most bytes in a batch; 0 for no limit.
    pub(crate) batch: i64,
    /// Directories in a message of `GetTree`; 0 where the method is not supported.
    pub(crate) page: usize,
    /// One of so many requests fails; 0 for none.
    pub(crate) one_fails_of: u64,
    pub(crate) seed: u64,
    /// The only valid token.
    pub(crate) token: Option<&'static str>,
    /// No stream begins before so many are asked for at once.
    pub(crate) hold: usize,
}

impl Settings {
    pub(crate) fn zstd(has_zstd: bool) -> Self {
        Self {
            has_zstd,
            ..Self::default()
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            has_zstd: true,
            batch: 0,
            page: 100,
            one_fails_of: 0,
            seed: 0,
            token: None,
            hold: 0,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Fake(Arc<State>);

pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) address: SocketAddr,
    pub(crate) blobs: Mutex<HashMap<String, Bytes>>,
    /// Every request, by its method and its subject.
    pub(crate) requests: Mutex<Vec<String>>,
    /// Faults of the next requests, one for each.
    pub(crate) once: Mutex<Vec<Fault>>,
    pub(crate) under_way: AtomicUsize,
    pub(crate) most_under_way: AtomicUsize,
    count: AtomicU64,
}

impl std::ops::Deref for Fake {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// The fault of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    None,
    Status(Code),
    /// A stream ends with an error, or without one, after this part of its bytes.
    Cut(f64, Option<Code>),
    /// A byte is changed.
    Bent,
    /// Bytes follow the end.
    Long,
    /// Something is left out: a directory, the answer for a file.
    Left,
    /// Nothing ever arrives.
    Silent,
}

pub(crate) const TRANSIENT: [Code; 7] = [
    Code::Cancelled,
    Code::Unknown,
    Code::DeadlineExceeded,
    Code::ResourceExhausted,
    Code::Aborted,
    Code::Internal,
    Code::Unavailable,
];

/// A transport that is never used: the token sources here need no network.
pub(crate) struct Nowhere;

#[async_trait::async_trait]
impl Transport for Nowhere {
    async fn send(
        &self,
        _: http::Request<Vec<u8>>,
        most_bytes: usize,
    ) -> Result<http::Response<Vec<u8>>, TransportError> {
        Err(TransportError::TooLong(most_bytes))
    }
}

impl Fake {
    pub(crate) async fn start(settings: Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Self(Arc::new(State {
            settings,
            address: listener.local_addr().unwrap(),
            blobs: Mutex::default(),
            requests: Mutex::default(),
            once: Mutex::default(),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
            count: AtomicU64::new(0),
        }));
        let server = tonic::transport::Server::builder()
            .add_service(CapabilitiesServer::new(fake.clone()))
            .add_service(ContentAddressableStorageServer::new(fake.clone()))
            .add_service(ByteStreamServer::new(fake.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(server);
        fake
    }

    /// A client that repeats soon.
    pub(crate) fn client(&self) -> Cas {
        self.client_with(|_| {}, TokenSource::None)
    }

    pub(crate) fn client_with(
        &self,
        change: impl FnOnce(&mut CasOptions),
        source: TokenSource,
    ) -> Cas {
        let mut options = CasOptions::at(&format!("http://{}", self.address), INSTANCE);
        options.backoff = Backoff {
            retries: 60,
            first: std::time::Duration::from_millis(1),
            longest: std::time::Duration::from_millis(2),
        };
        change(&mut options);
        let tokens = Tokens::new(source, &["a"], Arc::new(Nowhere));
        Cas::new(options, tokens).unwrap()
    }

    pub(crate) fn add(&self, content: impl Into<Bytes>) -> Digest {
        let content = content.into();
        let digest = Digest::of(&content);
        self.blobs.lock().unwrap().insert(digest.hash(), content);
        digest
    }

    pub(crate) fn remove(&self, digest: &Digest) {
        self.blobs.lock().unwrap().remove(&digest.hash());
    }

    pub(crate) fn fail_once(&self, faults: impl IntoIterator<Item = Fault>) {
        self.once.lock().unwrap().extend(faults);
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|it| it.starts_with(method)).count()
    }

    /// The fault of this request.
    fn begin<T>(&self, what: String, request: &Request<T>) -> Result<(Fault, Busy), Status> {
        self.requests.lock().unwrap().push(what);
        let bearer = request.metadata().get("authorization");
        let bearer = bearer.map(|value| value.to_str().unwrap().to_owned());
        let wanted = self.settings.token.map(|token| format!("Bearer {token}"));
        if bearer != wanted {
            return Err(Status::unauthenticated("who is there?"));
        }
        let agent = request.metadata().get("user-agent").unwrap();
        assert!(agent.to_str().unwrap().starts_with("pinpoint/"));
        let busy = Busy::begin(self.clone());
        {
            let mut once = self.once.lock().unwrap();
            if !once.is_empty() {
                return Ok((once.remove(0), busy));
            }
        }
        let number = self.count.fetch_add(1, Ordering::SeqCst);
        let mut random = SplitMix64::new(self.settings.seed ^ number.rotate_left(32));
        if self.settings.one_fails_of == 0 || random.below(self.settings.one_fails_of) != 0 {
            return Ok((Fault::None, busy));
        }
        let code = TRANSIENT[random.below(TRANSIENT.len() as u64) as usize];
        let part = random.below(1000) as f64 / 1000.0;
        let fault = match random.below(7) {
            0 | 1 => Fault::Status(code),
            2 => Fault::Cut(part, Some(code)),
            3 => Fault::Cut(part, None),
            4 => Fault::Bent,
            5 => Fault::Long,
            _ => Fault::Left,
        };
        Ok((fault, busy))
    }

    fn check_instance(&self, instance: &str) -> Result<(), Status> {
        if instance != INSTANCE {
            return Err(Status::invalid_argument(format!("instance {instance}")));
        }
        Ok(())
    }

    fn check(&self, digest: Option<&messages::Digest>) -> Result<Digest, Status> {
        let digest = digest.ok_or_else(|| Status::invalid_argument("no digest"))?;
        let text = format!("{}/{}", digest.hash, digest.size_bytes);
        text.parse()
            .map_err(|_| Status::invalid_argument(format!("digest {text}")))
    }

    fn find(&self, digest: &Digest) -> Option<Bytes> {
        let found = self.blobs.lock().unwrap().get(&digest.hash()).cloned();
        found.filter(|content| content.len() as u64 == digest.size())
    }

    /// All existing directories of a tree.
    fn directories(&self, root: Digest) -> Vec<Bytes> {
        let mut all = Vec::new();
        let mut open = vec![root];
        while let Some(digest) = open.pop() {
            let Some(content) = self.find(&digest) else {
                continue;
            };
            let directory = <Directory as prost::Message>::decode(content.clone()).unwrap();
            for inner in directory.directories {
                open.push(self.check(inner.digest.as_ref()).unwrap());
            }
            all.push(content);
        }
        all
    }
}

/// A request whose answer has not begun.
pub(crate) struct Busy(Fake);

impl Busy {
    fn begin(fake: Fake) -> Self {
        let now = fake.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        fake.most_under_way.fetch_max(now, Ordering::SeqCst);
        Self(fake)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}
