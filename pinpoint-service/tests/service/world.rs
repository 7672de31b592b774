//! A service with a separate store, and requests to it.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::{Request, Response, StatusCode, Version};
use pinpoint_backends::local::Mirrors;
use pinpoint_backends::owner;
use pinpoint_backends::store::{AuditFilter, Job, JobStore, NewToken};
use pinpoint_core::bots::{Bots, ConfigFile};
use pinpoint_service::config::LimitsConfig;
use pinpoint_service::{Commits, Gerrit, Limits, Phase, Service, SignIn, Watches, router};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::watch;
use tower::ServiceExt;

pub(crate) const BOTS: &str = r#"
    [bots.lab]
    local = true
    repository = "https://example.org/tool.git"

    [benchmarks.parsing]
    stories = ["small", "large"]
    bots = ["lab"]
    build = "make"
    command = ["./bench", "{story}"]
"#;

pub(crate) struct World {
    pub(crate) directory: Arc<TempDir>,
    pub(crate) store: JobStore,
    pub(crate) phase: watch::Sender<Phase>,
    router: Router,
    pub(crate) service: Service,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Value,
}

impl World {
    /// A world that everybody uses as this user.
    pub(crate) async fn new(user: &str) -> Self {
        Self::with(SignIn::Nobody(user.into())).await
    }

    pub(crate) async fn with(sign_in: SignIn) -> Self {
        Self::with_bots(sign_in, BOTS).await
    }

    /// A world with these bots and benchmarks.
    pub(crate) async fn with_bots(sign_in: SignIn, bots: &str) -> Self {
        Self::made(sign_in, bots, LimitsConfig::none(), &[]).await
    }

    /// A world with these limits, too.
    pub(crate) async fn limited(sign_in: SignIn, bots: &str, limits: LimitsConfig) -> Self {
        Self::made(sign_in, bots, limits, &[]).await
    }

    /// A world that looks commits up in these repositories.
    pub(crate) async fn looking_up(sign_in: SignIn, bots: &str, repositories: &[&str]) -> Self {
        Self::made(sign_in, bots, LimitsConfig::none(), repositories).await
    }

    async fn made(
        sign_in: SignIn,
        bots: &str,
        limits: LimitsConfig,
        repositories: &[&str],
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = JobStore::open(directory.path()).await.unwrap();
        let (phase, of_service) = watch::channel(Phase::Serving);
        let service = Service {
            limits: Arc::new(Limits::new(limits)),
            phase: of_service,
            commits: commits(directory.path(), repositories),
            ..service(directory.path(), &store, sign_in, bots)
        };
        Self {
            directory: Arc::new(directory),
            store,
            phase,
            router: router(service.clone()).await,
            service,
        }
    }

    /// Another service with the same store.
    pub(crate) async fn beside(&self, sign_in: SignIn) -> Router {
        let directory = self.directory.path();
        router(service(directory, &self.store, sign_in, BOTS)).await
    }

    /// Another process of the same store.
    pub(crate) async fn other(&self) -> Self {
        self.watched_by(Watches::default()).await
    }

    /// Another process, with these watches.
    pub(crate) async fn watched_by(&self, watches: Watches) -> Self {
        let service = Service {
            caches: Arc::new(watches.into()),
            ..self.service.clone()
        };
        self.served_by(service).await
    }

    /// Another process, which knows nothing of earlier fetches of these repositories.
    pub(crate) async fn looking_up_again(&self, repositories: &[&str]) -> Self {
        let service = Service {
            commits: commits(self.directory.path(), repositories),
            ..self.service.clone()
        };
        self.served_by(service).await
    }

    /// Another process, which asks this Gerrit.
    pub(crate) async fn asking(&self, gerrit: Gerrit) -> Self {
        let service = Service {
            gerrit: Some(Arc::new(gerrit)),
            ..self.service.clone()
        };
        self.served_by(service).await
    }

    async fn served_by(&self, service: Service) -> Self {
        Self {
            directory: self.directory.clone(),
            store: self.store.clone(),
            phase: self.phase.clone(),
            router: router(service.clone()).await,
            service,
        }
    }

    pub(crate) fn router(&self) -> &Router {
        &self.router
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// The job of this id.
    pub(crate) async fn job(&self, id: &str) -> Job {
        let found = self.store.jobs().find(&id.parse().unwrap()).await;
        found.unwrap()
    }

    /// The audit log: of each row the user, the last part of the operation, and the result.
    pub(crate) async fn audited(&self) -> Vec<(String, String, String)> {
        let rows = self
            .store
            .audit()
            .list(&AuditFilter::default(), 0, 100)
            .await;
        let rows = rows.unwrap().into_iter().map(|row| {
            let operation = row.entry.operation.rsplit('/').next().unwrap().to_owned();
            (row.entry.user, operation, row.entry.result)
        });
        rows.collect()
    }

    /// The secret of a new token for this user.
    pub(crate) async fn token(&self, user: &str, may: &[&str]) -> String {
        let token = NewToken {
            name: format!("{user} {}", may.join(" ")),
            user: user.into(),
            rights: may.iter().map(|name| (*name).to_owned()).collect(),
            expires: None,
        };
        let secret = self.store.tokens().create(&token, None).await.unwrap();
        secret.as_str().to_owned()
    }

    /// Sends a request with these headers.
    pub(crate) async fn send_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = match body {
            Value::Null => Body::empty(),
            body => body.to_string().into(),
        };
        self.answer(request.body(body).unwrap()).await
    }

    /// Calls a method of gRPC with an encoded message; the answer has not been read.
    pub(crate) async fn call(
        &self,
        rpc: &str,
        headers: &[(&str, &str)],
        message: &[u8],
    ) -> Response<Body> {
        let mut request = Request::post(format!("/{rpc}"))
            .version(Version::HTTP_2)
            .header("content-type", "application/grpc");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let frame = [&[0], &length[..], message].concat();
        self.send(request.body(frame.into()).unwrap()).await
    }

    pub(crate) async fn answer(&self, request: Request<Body>) -> Answer {
        let response = self.send(request).await;
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8_lossy(&body);
        let body = serde_json::from_slice(&body).unwrap_or_else(|_| text.as_ref().into());
        Answer { status, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.answer(Request::get(path).body(Body::empty()).unwrap())
            .await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_as(path, "application/json", body.to_string())
            .await
    }

    pub(crate) async fn post_as(&self, path: &str, kind: &str, body: String) -> Answer {
        let request = Request::post(path).header("content-type", kind);
        self.answer(request.body(body.into()).unwrap()).await
    }
}

fn commits(directory: &Path, repositories: &[&str]) -> Option<Arc<Commits>> {
    let allowed: Vec<_> = { repositories.iter() }
        .map(|url| url.parse().unwrap())
        .collect();
    if allowed.is_empty() {
        return None;
    }
    let machine_dir = directory.join("machine");
    let mirrors = Mirrors::open(directory, &machine_dir, Vec::new(), allowed);
    Some(Arc::new(Commits::new(mirrors.unwrap(), None)))
}

/// A service without limits, which serves for good.
fn service(directory: &Path, store: &JobStore, sign_in: SignIn, bots: &str) -> Service {
    let file = ConfigFile {
        name: "bots.toml",
        text: bots,
    };
    Service {
        store: store.clone(),
        bots: Arc::new(Bots::read(&[file]).unwrap()),
        state_dir: directory.to_owned(),
        owner: owner(directory, "test").unwrap(),
        sign_in: Arc::new(sign_in),
        limits: Arc::new(Limits::new(LimitsConfig::none())),
        phase: watch::channel(Phase::Serving).1,
        commits: None,
        gerrit: None,
        presets: Arc::default(),
        caches: Arc::default(),
    }
}

impl Answer {
    /// The body of a successful answer.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        self.body
    }

    /// The message of an error of this status and code.
    #[track_caller]
    pub(crate) fn fails(self, status: u16, code: i32) -> String {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        assert_eq!(self.body["code"], code, "{}", self.body);
        assert!(self.body["details"].is_array());
        self.body["message"].as_str().unwrap().to_owned()
    }
}
