//! Perf's culprit service, by a server that speaks its protocol.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use pinpoint_backends::culprit_service::{CulpritCommit, CulpritService, CulpritServiceError};
use pinpoint_backends::google::{Backoff, TokenSource, Tokens};
use pinpoint_backends::luci::{CulpritCallback, ToldPerf, tell_perf};
use prost::Message;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::cas::fake::Nowhere;

#[derive(Clone, PartialEq, Message)]
struct Commit {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(string, tag = "2")]
    project: String,
    #[prost(string, tag = "3")]
    branch: String,
    #[prost(string, tag = "4")]
    revision: String,
}

#[derive(Clone, PartialEq, Message)]
struct Persist {
    #[prost(message, repeated, tag = "1")]
    commits: Vec<Commit>,
    #[prost(string, tag = "2")]
    group: String,
}

#[derive(Clone, PartialEq, Message)]
struct Notify {
    #[prost(string, repeated, tag = "1")]
    culprits: Vec<String>,
    #[prost(string, tag = "2")]
    group: String,
}

#[derive(Clone, PartialEq, Message)]
struct Ids {
    #[prost(string, repeated, tag = "1")]
    ids: Vec<String>,
}

/// The calls that arrived, and the number of those that are refused at first.
#[derive(Default)]
struct State {
    arrived: Vec<String>,
    refusals: u32,
    /// Nobody may be told.
    forbids: bool,
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<State>>);

impl NamedService for Fake {
    const NAME: &'static str = "culprit.v1.CulpritService";
}

impl Fake {
    fn answer(
        &self,
        bearer: Option<&str>,
        arrived: String,
        ids: Vec<String>,
    ) -> Result<Response<Ids>, Status> {
        if bearer != Some("Bearer good") {
            return Err(Status::unauthenticated("who is it?"));
        }
        let mut state = self.0.lock().unwrap();
        if state.refusals > 0 {
            state.refusals -= 1;
            return Err(Status::unavailable("it restarts"));
        }
        state.arrived.push(arrived);
        Ok(Response::new(Ids { ids }))
    }
}

fn bearer<T>(request: &Request<T>) -> Option<String> {
    let bearer = request.metadata().get("authorization")?;
    bearer.to_str().ok().map(str::to_owned)
}

struct PersistMethod(Fake);

impl UnaryService<Persist> for PersistMethod {
    type Response = Ids;
    type Future = BoxFuture<Response<Ids>, Status>;

    fn call(&mut self, request: Request<Persist>) -> Self::Future {
        let fake = self.0.clone();
        Box::pin(async move {
            let bearer = bearer(&request);
            let Persist { commits, group } = request.into_inner();
            let commits: Vec<_> = { commits.iter() }
                .map(|it| format!("{}|{}|{}|{}", it.host, it.project, it.branch, it.revision))
                .collect();
            let ids = (1..=commits.len())
                .map(|number| format!("c{number}"))
                .collect();
            fake.answer(
                bearer.as_deref(),
                format!("keep {} of {group}", commits.join(", ")),
                ids,
            )
        })
    }
}

struct NotifyMethod(Fake);

impl UnaryService<Notify> for NotifyMethod {
    type Response = Ids;
    type Future = BoxFuture<Response<Ids>, Status>;

    fn call(&mut self, request: Request<Notify>) -> Self::Future {
        let fake = self.0.clone();
        Box::pin(async move {
            let bearer = bearer(&request);
            let Notify { culprits, group } = request.into_inner();
            if fake.0.lock().unwrap().forbids {
                return Err(Status::permission_denied("not for this account"));
            }
            let words = format!("tell of {} of {group}", culprits.join(", "));
            fake.answer(bearer.as_deref(), words, vec!["i7".into()])
        })
    }
}

impl Service<http::Request<Body>> for Fake {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let fake = self.clone();
        Box::pin(async move {
            Ok(match request.uri().path().rsplit('/').next() {
                Some("PersistCulprit") => {
                    let mut grpc = Grpc::new(ProstCodec::<Ids, Persist>::default());
                    grpc.unary(PersistMethod(fake), request).await
                }
                Some("NotifyUserOfCulprit") => {
                    let mut grpc = Grpc::new(ProstCodec::<Ids, Notify>::default());
                    grpc.unary(NotifyMethod(fake), request).await
                }
                _ => Status::unimplemented("no such method").into_http(),
            })
        })
    }
}

async fn served(fake: &Fake, identity: Option<Identity>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut server = Server::builder();
    if let Some(identity) = identity {
        server = server
            .tls_config(ServerTlsConfig::new().identity(identity))
            .unwrap();
    }
    let server = server.add_service(fake.clone());
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    port
}

fn client(address: &str, authority: Option<&str>) -> Result<CulpritService, CulpritServiceError> {
    let source = TokenSource::Command(vec!["echo".into(), "good".into()]);
    let tokens = Tokens::new(source, &["a"], Arc::new(Nowhere));
    let quick = Backoff {
        first: std::time::Duration::from_millis(1),
        longest: std::time::Duration::from_millis(1),
        retries: 9,
    };
    Ok(CulpritService::new(address, authority, tokens)?.with_backoff(quick))
}

fn commit() -> CulpritCommit {
    CulpritCommit {
        host: "chromium.googlesource.com".into(),
        project: "v8/v8".into(),
        revision: "a1".into(),
    }
}

#[tokio::test]
async fn culprits_are_kept_and_people_told() {
    let fake = Fake::default();
    fake.0.lock().unwrap().refusals = 9;
    let port = served(&fake, None).await;
    let service = client(&format!("http://127.0.0.1:{port}"), None).unwrap();
    let kept = service.persist(&[commit(), commit()], "g1").await.unwrap();
    assert_eq!(kept, ["c1", "c2"]);
    let told = service.notify(&kept, "g1").await.unwrap();
    assert_eq!(told, ["i7"]);
    let one = "chromium.googlesource.com|v8/v8||a1";
    let expected = [
        format!("keep {one}, {one} of g1"),
        "tell of c1, c2 of g1".to_owned(),
    ];
    assert_eq!(fake.0.lock().unwrap().arrived, expected);
}

#[tokio::test]
async fn a_service_that_is_down_is_given_up_with_its_words() {
    let fake = Fake::default();
    fake.0.lock().unwrap().refusals = 10;
    let port = served(&fake, None).await;
    let service = client(&format!("http://127.0.0.1:{port}"), None).unwrap();
    let error = service.persist(&[commit()], "g1").await.unwrap_err();
    assert!(
        matches!(error, CulpritServiceError::Method { tries: 10, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("it restarts"), "{error}");
}

#[tokio::test]
async fn the_service_has_to_prove_who_it_is() {
    let fake = Fake::default();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let identity = Identity::from_pem(made.cert.pem(), made.signing_key.serialize_pem());
    let port = served(&fake, Some(identity)).await;
    let address = format!("https://localhost:{port}");
    let certificate = made.cert.pem();
    let service = client(&address, Some(&certificate)).unwrap();
    assert_eq!(service.notify(&["c1".into()], "g1").await.unwrap(), ["i7"]);
    let service = client(&address, None).unwrap();
    let error = service.notify(&["c1".into()], "g1").await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    // Without TLS, culprits go no further than this machine.
    let refused = client("http://culprits.example.org", None);
    assert!(matches!(refused, Err(CulpritServiceError::Address(_))));
}

#[tokio::test]
async fn culprits_that_perf_has_are_not_made_twice() {
    let fake = Fake::default();
    fake.0.lock().unwrap().forbids = true;
    let port = served(&fake, None).await;
    let callback = CulpritCallback {
        url: format!("http://127.0.0.1:{port}"),
        anomaly_group: "g1".into(),
        authority: None,
    };
    let source = TokenSource::Command(vec!["echo".into(), "good".into()]);
    let job_dir = tempfile::tempdir().unwrap();
    let tell = async || tell_perf(&callback, &[commit()], &source, job_dir.path()).await;
    let error = tell().await.unwrap_err();
    assert!(
        error.to_string().contains("not for this account"),
        "{error}"
    );
    fake.0.lock().unwrap().forbids = false;
    for _ in 0..2 {
        let told = tell().await.unwrap();
        assert_eq!(told, ToldPerf::read(job_dir.path()));
        assert_eq!(told.to_string(), "Perf has c1, reported in i7");
    }
    let one = "chromium.googlesource.com|v8/v8||a1";
    let expected = [format!("keep {one} of g1"), "tell of c1 of g1".to_owned()];
    assert_eq!(fake.0.lock().unwrap().arrived, expected);
}
