//! A server on loopback with the answers that a test provides.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, Method, Request, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use pinpoint_backends::google::{Transport, TransportError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tower::ServiceExt as _;

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Arrived {
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }
}

/// Answers in order, and records the requests.
pub(crate) struct Server {
    pub(crate) address: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Server {
    /// Answers with these, then with 418.
    pub(crate) async fn with(answers: impl IntoIterator<Item = Response>) -> Self {
        let answers: VecDeque<_> = answers.into_iter().collect();
        let answers = Mutex::new(answers);
        Self::answering(move |_| {
            let answer = answers.lock().unwrap().pop_front();
            answer.unwrap_or_else(|| StatusCode::IM_A_TEAPOT.into_response())
        })
        .await
    }

    pub(crate) async fn answering(
        answer: impl Fn(&Arrived) -> Response + Send + Sync + 'static,
    ) -> Self {
        let arrived = Arc::new(Mutex::new(Vec::new()));
        let (list, answer) = (arrived.clone(), Arc::new(answer));
        let handle = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let request = Arrived {
                method,
                uri,
                headers,
                body,
            };
            let response = answer(&request);
            list.lock().unwrap().push(request);
            async { response }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let any_length = DefaultBodyLimit::disable();
        let routes = Router::new().fallback(handle).layer(any_length);
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, arrived }
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }
}

/// A server that writes these bytes to its first connections and closes them, one each, and
/// never answers to later ones.
pub(crate) async fn raw(answers: Vec<&'static [u8]>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut silent = Vec::new();
        let mut answers = answers.into_iter();
        while let Ok((mut connection, _)) = listener.accept().await {
            let Some(answer) = answers.next() else {
                silent.push(connection);
                continue;
            };
            let _ = connection.read(&mut [0; 4096]).await;
            let _ = connection.write_all(answer).await;
        }
    });
    address
}

/// A server in this process, in place of every host; records the requests in order.
#[derive(Clone)]
pub(crate) struct InProcess {
    routes: Router,
    asked: Arc<Mutex<Vec<String>>>,
}

impl InProcess {
    pub(crate) fn new(routes: Router) -> Self {
        let asked = Arc::default();
        Self { routes, asked }
    }

    /// The paths requested since the last call.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

#[async_trait::async_trait]
impl Transport for InProcess {
    async fn send(
        &self,
        request: Request<Vec<u8>>,
        _: usize,
    ) -> Result<http::Response<Vec<u8>>, TransportError> {
        let path = request.uri().path_and_query().unwrap().to_string();
        self.asked.lock().unwrap().push(path);
        let answer = self.routes.clone().oneshot(request.map(Body::from)).await;
        let (parts, body) = answer.unwrap().into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Ok(http::Response::from_parts(parts, body.to_vec()))
    }
}
