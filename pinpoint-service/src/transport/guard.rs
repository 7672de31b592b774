//! The acceptor of connections, which bounds what each may send and take.

use std::future::{Ready, ready};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Extension;
use axum::middleware::AddExtension;
use axum_server::Server;
use axum_server::accept::Accept;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower::Layer;

use super::connections::Connection;
use crate::auth::limits::Limits;

/// The most bytes of a request's headers.
const MOST_HEADER_BYTES: usize = 16 << 10;

/// The most requests under way on a connection of HTTP/2.
const MOST_STREAMS: u32 = 100;

/// The bytes of requests that a connection of HTTP/2 may send ahead, and each of its requests.
const WINDOWS: (u32, u32) = (256 << 10, 64 << 10);

/// Accepts connections within the limits: see [`ConnectionGuard::server`].
#[derive(Debug, Clone)]
pub struct ConnectionGuard(Arc<Limits>);

impl ConnectionGuard {
    /// A guard with these limits.
    pub fn new(limits: Arc<Limits>) -> Self {
        Self(limits)
    }

    /// A server whose connections have bounds: it cuts off clients that send or take too little,
    /// and headers that are long. The guard has to be its acceptor, or the one below TLS.
    #[must_use]
    pub fn server<A>(&self, mut server: Server<SocketAddr, A>) -> Server<SocketAddr, A> {
        let patience = self.0.config().headers;
        let builder = server.http_builder();
        builder
            .http1()
            .header_read_timeout(patience)
            .max_buf_size(MOST_HEADER_BYTES);
        let size = u32::try_from(MOST_HEADER_BYTES).unwrap_or(u32::MAX);
        let (of_connection, of_request) = WINDOWS;
        builder
            .http2()
            .keep_alive_interval(patience)
            .keep_alive_timeout(patience)
            .max_header_list_size(size)
            .max_concurrent_streams(MOST_STREAMS)
            .initial_connection_window_size(of_connection)
            .initial_stream_window_size(of_request);
        server.first_request_timeout(patience)
    }
}

impl<I, S> Accept<I, S> for ConnectionGuard {
    type Stream = Guarded<I>;
    type Service = AddExtension<S, Arc<Connection>>;
    type Future = Ready<io::Result<(Self::Stream, Self::Service)>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let connection = self.0.connections().add();
        let service = Extension(connection.clone()).layer(service);
        ready(Ok((Guarded { stream, connection }, service)))
    }
}

/// The stream of a connection that can be closed from outside.
#[derive(Debug)]
pub struct Guarded<I> {
    stream: I,
    connection: Arc<Connection>,
}

impl<I: AsyncRead + Unpin> AsyncRead for Guarded<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.connection.check(context)?;
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.connection.note(&read, false);
        read
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Guarded<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.connection.check(context)?;
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.connection.note(&written, true);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.connection.check(context)?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.connection.note(&written, true);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
