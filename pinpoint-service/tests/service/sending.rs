//! Clients that take nothing of their answers, or next to nothing, and slow senders.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum_server::Handle;
use http::Request;
use pinpoint_backends::job::{CommandLine, JobConfig, JobRequest};
use pinpoint_core::{CombinedCommit, Commit, PairwiseSpec, Variant};
use pinpoint_service::config::{Limit, LimitsConfig};
use pinpoint_service::{ConnectionGuard, Limits, SignIn};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::world::{BOTS, World};

/// MiB of answers that may wait.
const OUTBOX_MIB: u32 = 8;

/// Enough to tell a program that hangs from one that has to wait for its turn.
const HANGS: Duration = Duration::from_secs(300);

/// A service on a port, with a job whose report has a MiB.
struct Served {
    world: World,
    address: SocketAddr,
    report: String,
    events: String,
    handle: Handle<SocketAddr>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

impl Served {
    async fn new(limits: LimitsConfig) -> Self {
        let world = World::limited(SignIn::Nobody("ada".into()), BOTS, limits).await;
        let config = JobConfig {
            command_line: Some(CommandLine {
                words: vec!["x".repeat(1 << 20)],
                ends: None,
            }),
            ..JobConfig::default()
        };
        let side = |hash| Variant::from(CombinedCommit::from(Commit::new("app", hash)));
        let spec = PairwiseSpec::new(side("a"), side("b"));
        let job = JobRequest::new(spec, config).into_job().unwrap();
        let id = world.store.jobs().create(&job).await.unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let guard = ConnectionGuard::new(world.service.limits.clone());
        let handle = Handle::new();
        let server = guard.server(axum_server::from_tcp(listener).unwrap());
        let server = server.acceptor(guard).handle(handle.clone());
        let routes = world.router().clone();
        let routes = routes.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(server.serve(routes));
        Self {
            world,
            address,
            report: format!("/api/v2/jobs/{id}/report"),
            events: format!("/api/v2/jobs/{id}/events"),
            handle,
        }
    }

    fn limits(&self) -> &Arc<Limits> {
        &self.world.service.limits
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Asks for these over a connection of HTTP/2 that takes no byte of an answer, until the
    /// service closes it.
    async fn take_nothing(&self, paths: &[&str]) -> JoinSet<()> {
        let stream = self.connect().await;
        let mut client = h2::client::Builder::new();
        let client = client
            .initial_window_size(0)
            .handshake::<_, Bytes>(stream)
            .await;
        let (mut requests, connection) = client.unwrap();
        let mut tasks = JoinSet::new();
        let mut asked = Vec::new();
        for path in paths {
            requests = requests.ready().await.unwrap();
            let uri = format!("http://{}{path}", self.address);
            let request = Request::get(uri).body(()).unwrap();
            asked.push(requests.send_request(request, true).unwrap());
        }
        tasks.spawn(async move {
            let _ = connection.await;
            drop((requests, asked));
        });
        tasks
    }

    /// Serves another client, which reads.
    async fn is_served(&self) {
        for path in ["/healthz", "/api/v2/jobs", "/pinpoint/v1/user"] {
            let mut stream = self.connect().await;
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            assert!(answer.starts_with(b"HTTP/1.1 200 OK"), "{path}");
        }
    }

    /// Waits until no connection is open, and looks at the waiting bytes until then.
    async fn all_are_closed(&self) {
        let closed = async {
            while self.limits().open_connections() > 0 {
                let waiting = self.limits().waiting_bytes();
                assert!(waiting <= (OUTBOX_MIB as usize + 1) << 20, "{waiting}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(HANGS, closed).await.unwrap();
        assert_eq!(self.limits().waiting_bytes(), 0);
    }
}

fn limits(sending: Duration) -> LimitsConfig {
    LimitsConfig {
        sending,
        answers_mib: Limit::new(OUTBOX_MIB),
        ..LimitsConfig::none()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_take_nothing_hold_so_many_bytes_and_are_cut_off() {
    let served = Served::new(limits(Duration::from_secs(2))).await;
    let paths = [&*served.report; 5];
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(served.take_nothing(&paths).await);
        let waiting = served.limits().waiting_bytes();
        assert!(waiting <= (OUTBOX_MIB as usize + 1) << 20, "{waiting}");
    }
    served.is_served().await;
    // A connection whose requests were all refused may stay.
    let waits = async {
        while served.limits().waiting_bytes() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(HANGS, waits).await.unwrap();
    served.is_served().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_events_that_nobody_takes_is_cut_off() {
    let served = Served::new(limits(Duration::from_millis(300))).await;
    let _clients = served.take_nothing(&[&served.events, &served.events]).await;
    served.all_are_closed().await;
}

/// Its socket takes some MB, and then nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_http_1_that_reads_too_slowly_is_cut_off() {
    let served = Served::new(limits(Duration::from_millis(300))).await;
    let mut stream = served.connect().await;
    let request = format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", served.report);
    // Written by another task: the service reads no further while it can't send.
    let (mut reader, mut writer) = stream.split();
    let ask = async {
        for _ in 0..200 {
            if writer.write_all(request.as_bytes()).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    let drip = async {
        let mut byte = [0];
        // Until it is closed, and the socket's buffer is read.
        while served.limits().open_connections() > 0 {
            let _ = reader.read(&mut byte).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(HANGS, async {
        tokio::select! {
            () = ask => {}
            () = drip => {}
        }
    })
    .await
    .unwrap();
    served.all_are_closed().await;
}

/// The connection of a proxy is closed only if it takes nothing else either.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_read_slowly_but_steadily_arrives() {
    let served = Served::new(limits(Duration::from_secs(2))).await;
    let stream = served.connect().await;
    let mut client = h2::client::Builder::new();
    let client = client
        .initial_window_size(65_535)
        .handshake::<_, Bytes>(stream);
    let (requests, connection) = client.await.unwrap();
    tokio::spawn(connection);
    let mut requests = requests.ready().await.unwrap();
    let uri = format!("http://{}{}", served.address, served.report);
    let request = Request::get(uri).body(()).unwrap();
    let (answer, _) = requests.send_request(request, true).unwrap();
    let mut body = answer.await.unwrap().into_body();
    let mut read = 0;
    while let Some(data) = body.data().await {
        let data = data.unwrap();
        read += data.len();
        body.flow_control().release_capacity(data.len()).unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(read > 1 << 20, "{read}");
}

/// A request with so many bytes of JSON, of which some are sent.
async fn send(served: &Served, bytes: usize, sent: usize) -> TcpStream {
    let mut stream = served.connect().await;
    let head = format!(
        "POST /api/v2/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {bytes}\r\n\r\n"
    );
    let body = format!("{{\"name\":\"{}\"}}", "x".repeat(bytes - 11));
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body.as_bytes()[..sent]).await.unwrap();
    stream
}

/// The first line of an answer.
async fn status(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    // It may be closed before all was sent.
    let _ = tokio::time::timeout(HANGS, read).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_arrive_slowly_hold_so_many_bytes_and_make_room() {
    const PART: usize = 300 << 10;
    let most = LimitsConfig {
        requests_mib: Limit::new(1),
        ..limits(Duration::from_secs(30))
    };
    let served = Served::new(most).await;
    let mut slow = Vec::new();
    for number in 1..=3 {
        slow.push(send(&served, 900 << 10, PART).await);
        let arrives = async {
            while served.limits().arrived_bytes() < number * PART {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(HANGS, arrives).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let whole = status(send(&served, PART, PART).await).await;
    assert!(whole.starts_with("HTTP/1.1 400"), "{whole}");
    let first = status(slow.remove(0)).await;
    assert!(first.starts_with("HTTP/1.1 429"), "{first}");
    // The others still have theirs.
    assert_eq!(served.limits().arrived_bytes(), 2 * PART);
    served.is_served().await;
    drop(slow);
    let leaves = async {
        while served.limits().arrived_bytes() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(HANGS, leaves).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_too_many_connections_the_one_that_was_silent_the_longest_is_closed() {
    let most = LimitsConfig {
        connections: Limit::new(10),
        ..limits(Duration::from_secs(30))
    };
    let served = Served::new(most).await;
    let mut idle = Vec::new();
    for _ in 0..30 {
        idle.push(served.connect().await);
    }
    served.is_served().await;
    assert!(served.limits().open_connections() <= 11);
    let mut first = idle.remove(0);
    let read = tokio::time::timeout(HANGS, first.read(&mut [0])).await;
    assert!(matches!(read.unwrap(), Ok(0) | Err(_)));
}
