//! A network between a store and a PostgreSQL server that does what networks do: it
//! resets connections, falls silent, and loses answers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// A proxy on loopback. Connections stay as they are when it is dropped.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
}

struct State {
    /// Rises when every connection is to be reset.
    resets: watch::Sender<u64>,
    silent: AtomicBool,
    /// The next answer with these bytes is lost, and its connection reset.
    loses: Mutex<Option<&'static [u8]>>,
    connections: AtomicU64,
}

impl Proxy {
    /// Before the server that listens on this socket.
    pub(crate) fn start(socket: &Path) -> Self {
        let state = Arc::new(State {
            resets: watch::Sender::new(0),
            silent: AtomicBool::new(false),
            loses: Mutex::default(),
            connections: AtomicU64::new(0),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (socket, shared) = (socket.to_owned(), state.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(accept(listener, socket, shared));
        });
        Self { port, state }
    }

    /// The address of a database through it.
    pub(crate) fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable",
            self.port
        )
    }

    /// Resets every connection that there is.
    pub(crate) fn reset(&self) {
        self.state.resets.send_modify(|count| *count += 1);
    }

    /// Resets every connection again and again, until the proxy is dropped.
    pub(crate) fn reset_every(&self, time: Duration) {
        let state = Arc::downgrade(&self.state);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(time);
                let Some(state) = state.upgrade() else { return };
                state.resets.send_modify(|count| *count += 1);
            }
        });
    }

    /// Connections are accepted, and nothing goes through them; what was sent
    /// meanwhile arrives when it is over.
    pub(crate) fn silence(&self, silent: bool) {
        self.state.silent.store(silent, Ordering::SeqCst);
    }

    /// Loses the next answer of the server that contains this, with its connection.
    pub(crate) fn lose(&self, answer: &'static [u8]) {
        *self.state.loses.lock().unwrap() = Some(answer);
    }

    /// Was it lost?
    pub(crate) fn has_lost(&self) -> bool {
        self.state.loses.lock().unwrap().is_none()
    }

    /// Connections that were made through it.
    pub(crate) fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }
}

async fn accept(listener: std::net::TcpListener, socket: PathBuf, state: Arc<State>) {
    let listener = TcpListener::from_std(listener).unwrap();
    while let Ok((client, _)) = listener.accept().await {
        let (socket, state) = (socket.clone(), state.clone());
        tokio::spawn(async move {
            state.connections.fetch_add(1, Ordering::SeqCst);
            let mut resets = state.resets.subscribe();
            client.set_zero_linger().unwrap();
            tokio::select! {
                _ = resets.changed() => {}
                _ = carry(client, &socket, &state) => {}
            }
        });
    }
}

/// Carries bytes both ways until one side ends, or there is no server.
async fn carry(mut client: TcpStream, socket: &Path, state: &State) -> io::Result<()> {
    let mut server = UnixStream::connect(socket).await?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::select! {
        ended = copy(from_client, to_server, state, false) => ended,
        ended = copy(from_server, to_client, state, true) => ended,
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    state: &State,
    answers: bool,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut buffer).await?;
        while state.silent.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        if read == 0 {
            return Ok(());
        }
        if answers {
            let mut loses = state.loses.lock().unwrap();
            let lost = |answer: &&[u8]| {
                let mut parts = buffer[..read].windows(answer.len());
                parts.any(|part| part == *answer)
            };
            if loses.as_ref().is_some_and(lost) {
                *loses = None;
                return Ok(());
            }
        }
        to.write_all(&buffer[..read]).await?;
    }
}
