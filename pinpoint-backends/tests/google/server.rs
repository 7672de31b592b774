//! A server on loopback that answers as a test has written down.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A request as it arrived.
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

/// Answers in order, and what was asked.
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
