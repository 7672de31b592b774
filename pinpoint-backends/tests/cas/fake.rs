//! A content-addressed store in this process that is strict about requests, and fails by seed.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use pinpoint_backends::cas::{Cas, CasOptions, Digest};
use pinpoint_backends::google::{Backoff, TokenSource, Tokens, Transport, TransportError};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, Request, Response, Status};

use super::messages::batch_read_blobs_response::Response as Answer;
use super::messages::capabilities_server::{Capabilities, CapabilitiesServer};
use super::messages::content_addressable_storage_server::{
    ContentAddressableStorage, ContentAddressableStorageServer,
};
use super::messages::google::bytestream::byte_stream_server::{ByteStream, ByteStreamServer};
use super::messages::google::bytestream::{ReadRequest, ReadResponse};
use super::messages::google::rpc;
use super::messages::{self, *};

pub(crate) const INSTANCE: &str = "projects/a/instances/default_instance";

/// What the store offers, and how it fails.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) has_zstd: bool,
    /// The most bytes in a batch; 0 for no limit.
    pub(crate) batch: i64,
    /// Directories in a message of `GetTree`; 0 where there is no such method.
    pub(crate) page: usize,
    /// Of how many requests one fails; 0 for none.
    pub(crate) one_fails_of: u64,
    pub(crate) seed: u64,
    /// The only token that is good.
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
    /// Every request, by its method and what it is about.
    pub(crate) requests: Mutex<Vec<String>>,
    /// What is answered once instead, the first first.
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

/// What goes wrong with a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    None,
    Status(Code),
    /// A stream ends with an error, or without one, after this part of its bytes.
    Cut(f64, Option<Code>),
    /// A byte is another.
    Bent,
    /// Bytes follow the end.
    Long,
    /// Something is left out: a directory, the answer for a file.
    Left,
    /// Nothing ever comes.
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

/// Where tokens are not fetched from: their sources here need no network.
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

/// SplitMix64.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
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
        let mut random = Random(self.settings.seed ^ number.rotate_left(32));
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

    /// All directories of a tree, as far as they are there.
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

fn bend(content: &Bytes) -> Bytes {
    let mut bent = content.to_vec();
    match bent.len() / 2 {
        0 => bent.push(1),
        middle => bent[middle] ^= 1,
    }
    bent.into()
}

async fn silence<T>(fault: &Fault) -> Result<(), T> {
    match fault {
        Fault::Silent => std::future::pending().await,
        _ => Ok(()),
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The messages, cut where the fault says.
fn cut<T: Send + 'static>(mut messages: Vec<T>, fault: &Fault) -> Answers<T> {
    let mut end = None;
    if let Fault::Cut(part, code) = fault {
        messages.truncate((messages.len() as f64 * part) as usize);
        end = code.map(|code| Err(Status::new(code, "cut")));
    }
    Box::pin(stream::iter(messages.into_iter().map(Ok)).chain(stream::iter(end)))
}

#[tonic::async_trait]
impl Capabilities for Fake {
    async fn get_capabilities(
        &self,
        request: Request<GetCapabilitiesRequest>,
    ) -> Result<Response<ServerCapabilities>, Status> {
        let (fault, _busy) = self.begin("GetCapabilities".into(), &request)?;
        self.check_instance(&request.get_ref().instance_name)?;
        silence::<Status>(&fault).await?;
        if let Fault::Status(code) | Fault::Cut(_, Some(code)) = fault {
            return Err(Status::new(code, "later"));
        }
        Ok(Response::new(ServerCapabilities {
            cache_capabilities: Some(CacheCapabilities {
                digest_functions: vec![2, digest_function::Value::Sha256 as i32],
                max_batch_total_size_bytes: self.settings.batch,
                supported_compressors: match self.settings.has_zstd {
                    true => vec![2, compressor::Value::Zstd as i32],
                    false => vec![2],
                },
            }),
        }))
    }
}

#[tonic::async_trait]
impl ContentAddressableStorage for Fake {
    async fn batch_read_blobs(
        &self,
        request: Request<BatchReadBlobsRequest>,
    ) -> Result<Response<BatchReadBlobsResponse>, Status> {
        let digests = &request.get_ref().digests;
        let what = format!("BatchReadBlobs {}", digests.len());
        let (fault, _busy) = self.begin(what, &request)?;
        self.check_instance(&request.get_ref().instance_name)?;
        silence::<Status>(&fault).await?;
        if let Fault::Status(code) | Fault::Cut(_, Some(code)) = fault {
            return Err(Status::new(code, "later"));
        }
        let zstd = compressor::Value::Zstd as i32;
        let wants_zstd = request.get_ref().acceptable_compressors == [zstd];
        if wants_zstd && !self.settings.has_zstd {
            return Err(Status::invalid_argument("zstd is not offered"));
        }
        let mut total = 0;
        let mut responses = Vec::new();
        for (index, message) in digests.iter().enumerate() {
            let digest = self.check(Some(message))?;
            total += digest.size() as i64;
            let mut answer = Answer {
                digest: Some(message.clone()),
                ..Answer::default()
            };
            match self.find(&digest) {
                None => {
                    answer.status = Some(rpc::Status {
                        code: Code::NotFound as i32,
                        message: "not here".into(),
                        details: Vec::new(),
                    });
                }
                Some(content) => {
                    answer.data = match fault {
                        Fault::Bent if index == 0 => bend(&content),
                        Fault::Long if index == 0 => [&content[..], b"x"].concat().into(),
                        _ => content,
                    };
                    // Every second one, as a store may.
                    if wants_zstd && digest.size().is_multiple_of(2) {
                        answer.data = zstd::bulk::compress(&answer.data, 3).unwrap().into();
                        answer.compressor = zstd;
                    }
                }
            }
            responses.push(answer);
        }
        if self.settings.batch > 0 && total > self.settings.batch {
            return Err(Status::invalid_argument("more than a batch holds"));
        }
        match fault {
            Fault::Left => {
                responses.pop();
            }
            Fault::Cut(..) => {
                let later = Some(rpc::Status {
                    code: Code::Unavailable as i32,
                    ..rpc::Status::default()
                });
                responses[0] = Answer {
                    digest: responses[0].digest.clone(),
                    status: later,
                    ..Answer::default()
                };
            }
            _ => {}
        }
        // In no order, and one of them twice.
        responses.reverse();
        responses.extend(responses.first().cloned());
        Ok(Response::new(BatchReadBlobsResponse { responses }))
    }

    type GetTreeStream = Answers<GetTreeResponse>;

    async fn get_tree(
        &self,
        request: Request<GetTreeRequest>,
    ) -> Result<Response<Self::GetTreeStream>, Status> {
        let what = format!("GetTree {}", request.get_ref().page_token);
        let (fault, _busy) = self.begin(what, &request)?;
        self.check_instance(&request.get_ref().instance_name)?;
        silence::<Status>(&fault).await?;
        if self.settings.page == 0 {
            return Err(Status::unimplemented("no trees"));
        }
        if let Fault::Status(code) = fault {
            return Err(Status::new(code, "later"));
        }
        let root = self.check(request.get_ref().root_digest.as_ref())?;
        if self.find(&root).is_none() {
            return Err(Status::not_found("no such tree"));
        }
        let skip: usize = match request.get_ref().page_token.as_str() {
            "" => 0,
            page => page.strip_prefix("from ").unwrap().parse().unwrap(),
        };
        let mut all = self.directories(root);
        assert!(skip <= all.len());
        all.drain(..skip);
        match fault {
            Fault::Left => {
                all.pop();
            }
            Fault::Bent => {
                all[0] = bend(&all[0]);
            }
            Fault::Long => all.push(Bytes::from_static(b"nobody's")),
            _ => {}
        }
        let pages = all.chunks(self.settings.page);
        let count = pages.len();
        // Two pages in a stream, then another is to be asked for.
        let messages = pages.enumerate().take(2).map(|(index, page)| {
            let next = skip + index * self.settings.page + page.len();
            GetTreeResponse {
                directories: page.to_vec(),
                next_page_token: match index + 1 == count {
                    true => String::new(),
                    false => format!("from {next}"),
                },
            }
        });
        Ok(Response::new(cut(messages.collect(), &fault)))
    }
}

#[tonic::async_trait]
impl ByteStream for Fake {
    type ReadStream = Answers<ReadResponse>;

    async fn read(
        &self,
        request: Request<ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let ReadRequest {
            resource_name,
            read_offset,
            read_limit,
        } = request.get_ref();
        let what = format!("Read {resource_name} from {read_offset}");
        let (fault, _busy) = self.begin(what, &request)?;
        silence::<Status>(&fault).await?;
        while self.most_under_way.load(Ordering::SeqCst) < self.settings.hold {
            tokio::task::yield_now().await;
        }
        if let Fault::Status(code) = fault {
            return Err(Status::new(code, "later"));
        }
        let name = resource_name.strip_prefix(INSTANCE);
        let (is_compressed, digest) = match name {
            Some(name) if self.settings.has_zstd && name.starts_with("/compressed-blobs/zstd/") => {
                (true, name.strip_prefix("/compressed-blobs/zstd/").unwrap())
            }
            Some(name) if name.starts_with("/blobs/") => {
                (false, name.strip_prefix("/blobs/").unwrap())
            }
            _ => return Err(Status::invalid_argument(resource_name)),
        };
        let digest: Digest = digest
            .parse()
            .map_err(|_| Status::invalid_argument(resource_name))?;
        let offset = *read_offset as usize;
        if *read_limit != 0 || offset as u64 > digest.size() {
            return Err(Status::out_of_range(format!("{request:?}")));
        }
        let content = self
            .find(&digest)
            .ok_or_else(|| Status::not_found("not here"))?
            .slice(offset..);
        let content = match fault {
            Fault::Bent => bend(&content),
            Fault::Long => [&content[..], b"x"].concat().into(),
            _ => content,
        };
        let mut data = match is_compressed {
            true => zstd::bulk::compress(&content, 3).unwrap().into(),
            false => content,
        };
        if fault == Fault::Left {
            data.truncate(data.len() / 2);
        }
        // An empty message says that there is more to come.
        let mut messages = vec![ReadResponse { data: Bytes::new() }];
        while !data.is_empty() {
            let part = data.split_to(data.len().min(300_000));
            messages.push(ReadResponse { data: part });
        }
        Ok(Response::new(cut(messages, &fault)))
    }
}
