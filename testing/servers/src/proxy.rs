//! A simulated network before a server, PostgreSQL or another: it resets connections, slows them
//! down, falls silent, and loses answers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// A proxy on loopback. Connections stay open when it is dropped.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
    /// Held by the tasks that disturb it, which end with it.
    in_use: Arc<()>,
}

/// The address on which the server listens.
#[derive(Clone)]
enum Listens {
    Socket(PathBuf),
    Address(String),
}

struct State {
    /// Incremented when every connection is to be reset.
    resets: watch::Sender<u64>,
    silent: AtomicBool,
    /// Milliseconds of delay for each piece.
    delay: AtomicU64,
    /// The next answer with these bytes is lost, and its connection reset.
    loses: Mutex<Option<&'static [u8]>>,
    connections: AtomicU64,
}

impl Proxy {
    /// Before the server that listens on this socket.
    pub fn start(socket: &Path) -> Self {
        Self::before(Listens::Socket(socket.to_owned()))
    }

    /// Before the server that listens at this address: `HOST:PORT`.
    pub fn before_address(address: &str) -> Self {
        Self::before(Listens::Address(address.to_owned()))
    }

    fn before(server: Listens) -> Self {
        let state = Arc::new(State {
            resets: watch::Sender::new(0),
            silent: AtomicBool::new(false),
            delay: AtomicU64::new(0),
            loses: Mutex::default(),
            connections: AtomicU64::new(0),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = state.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(accept(listener, server, shared));
        });
        Self {
            port,
            state,
            in_use: Arc::default(),
        }
    }

    /// `HOST:PORT`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The address of a database through it.
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable",
            self.port
        )
    }

    /// Resets every existing connection.
    pub fn reset(&self) {
        self.state.resets.send_modify(|count| *count += 1);
    }

    /// Resets every connection again and again, until the proxy is dropped.
    pub fn reset_every(&self, time: Duration) {
        self.again_and_again(move |state| {
            std::thread::sleep(time);
            state.resets.send_modify(|count| *count += 1);
        });
    }

    /// Resets connections, slows them down and falls silent, for at most this many milliseconds,
    /// until the proxy is dropped; `below` draws what comes next.
    pub fn disturb(&self, longest: u64, mut below: impl FnMut(u64) -> u64 + Send + 'static) {
        self.again_and_again(move |state| {
            let mut pause = || Duration::from_millis(below(longest));
            std::thread::sleep(pause() / 2);
            let lasts = pause();
            match below(3) {
                0 => state.resets.send_modify(|count| *count += 1),
                1 => {
                    state.delay.store(10 + below(90), Ordering::SeqCst);
                    std::thread::sleep(lasts);
                    state.delay.store(0, Ordering::SeqCst);
                }
                _ => {
                    state.silent.store(true, Ordering::SeqCst);
                    std::thread::sleep(lasts);
                    state.silent.store(false, Ordering::SeqCst);
                }
            }
        });
    }

    fn again_and_again(&self, mut happen: impl FnMut(&State) + Send + 'static) {
        let (state, in_use): (_, Weak<()>) = (self.state.clone(), Arc::downgrade(&self.in_use));
        std::thread::spawn(move || {
            while in_use.strong_count() > 0 {
                happen(&state);
            }
        });
    }

    /// Accepts connections, but passes nothing on; data sent in the meantime arrives afterwards.
    pub fn silence(&self, silent: bool) {
        self.state.silent.store(silent, Ordering::SeqCst);
    }

    /// Loses the next answer of the server that contains this, with its connection.
    pub fn lose(&self, answer: &'static [u8]) {
        *self.state.loses.lock().unwrap() = Some(answer);
    }

    /// Returns true if it was lost.
    pub fn has_lost(&self) -> bool {
        self.state.loses.lock().unwrap().is_none()
    }

    /// Connections that were made through it.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }
}

async fn accept(listener: std::net::TcpListener, server: Listens, state: Arc<State>) {
    let listener = TcpListener::from_std(listener).unwrap();
    while let Ok((client, _)) = listener.accept().await {
        let (server, state) = (server.clone(), state.clone());
        tokio::spawn(async move {
            state.connections.fetch_add(1, Ordering::SeqCst);
            let mut resets = state.resets.subscribe();
            client.set_zero_linger().unwrap();
            tokio::select! {
                _ = resets.changed() => {}
                _ = carry(client, &server, &state) => {}
            }
        });
    }
}

/// Carries bytes both ways until one side ends, or if the server is missing.
async fn carry(client: TcpStream, server: &Listens, state: &State) -> io::Result<()> {
    match server {
        Listens::Socket(socket) => {
            let mut server = UnixStream::connect(socket).await?;
            carry_between(client, server.split(), state).await
        }
        Listens::Address(address) => {
            let mut server = TcpStream::connect(address).await?;
            carry_between(client, server.split(), state).await
        }
    }
}

async fn carry_between(
    mut client: TcpStream,
    (from_server, to_server): (impl AsyncRead + Unpin, impl AsyncWrite + Unpin),
    state: &State,
) -> io::Result<()> {
    let (from_client, to_client) = client.split();
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
        match state.delay.load(Ordering::SeqCst) {
            0 => {}
            delay => tokio::time::sleep(Duration::from_millis(delay)).await,
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
