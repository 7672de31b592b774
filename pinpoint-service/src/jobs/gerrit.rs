//! Changes under review at Gerrit, by its [REST interface]. Only hosts on the operator's list are
//! asked, by HTTPS and without credentials.
//!
//! [REST interface]: https://gerrit-review.googlesource.com/Documentation/rest-api-changes.html

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pinpoint_core::api::{GetPatchRequest, GetPatchResponse, Timestamp};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use serde::Deserialize;
use tonic::Status;

use crate::api::grpc::errors;
use crate::jobs::hosts::is_at_or_below;

/// The problem of a change where no host is configured.
pub(crate) const NO_GERRIT: &str =
    "this service can't look up Gerrit changes; its operator lists hosts in `gerrit_hosts`";

/// The longest that an answer may take.
const GERRIT_TIMEOUT: Duration = Duration::from_secs(20);

/// The most bytes of an answer.
const MOST_ANSWER_BYTES: usize = 8 << 20;

/// The line before the JSON of an answer, which keeps other pages from running it.
const GUARD: &[u8] = b")]}'";

/// The hosts of Gerrit that may be asked, and the client that asks them.
#[derive(Debug)]
pub struct Gerrit {
    client: Client,
    hosts: Vec<String>,
    /// The beginning of the URLs of a host.
    base: fn(&str) -> String,
}

/// The client of Gerrit can't be made: the certificates of this machine can't be used.
#[derive(Debug, thiserror::Error)]
#[error("Gerrit can't be asked: {0}; check the certificates of this machine")]
pub struct GerritError(#[from] reqwest::Error);

/// The part of a [ChangeInfo] that is read.
///
/// [ChangeInfo]: https://gerrit-review.googlesource.com/Documentation/rest-api-changes.html#change-info
#[derive(Deserialize)]
struct Change {
    project: String,
    #[serde(default)]
    current_revision: String,
    #[serde(default)]
    revisions: BTreeMap<String, Revision>,
}

#[derive(Deserialize)]
struct Revision {
    #[serde(rename = "_number")]
    number: i64,
    created: String,
    commit: Commit,
}

#[derive(Deserialize)]
struct Commit {
    subject: String,
    author: Person,
}

#[derive(Deserialize)]
struct Person {
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: String,
}

impl Gerrit {
    /// Asks these hosts, and their subdomains.
    ///
    /// # Errors
    ///
    /// When the certificates of this machine can't be used.
    pub fn new(hosts: Vec<String>) -> Result<Self, GerritError> {
        // The service's own TLS may have installed another already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            // A redirect may lead to a host that is not on the list.
            .redirect(Policy::none())
            .timeout(GERRIT_TIMEOUT);
        Ok(Self {
            client: client.build()?,
            hosts,
            base: |host| format!("https://{host}"),
        })
    }

    /// The same, with other URLs for its hosts: through a proxy, or in a test.
    #[must_use]
    pub fn reached_by(self, base: fn(&str) -> String) -> Self {
        Self { base, ..self }
    }

    /// The hosts that may be asked, and their subdomains.
    pub(crate) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// A change, with one of its patch sets: the newest where none is named.
    pub(crate) async fn patch(&self, request: GetPatchRequest) -> Result<GetPatchResponse, Status> {
        let GetPatchRequest {
            host,
            change,
            patchset,
        } = request;
        let host = host.trim();
        if !{ self.hosts.iter() }.any(|trusted| is_at_or_below(host, trusted)) {
            let problem = "it is not one of the hosts that the operator lists in `gerrit_hosts`";
            return Err(errors::field("host", problem));
        }
        if change <= 0 {
            return Err(errors::field("change", "it is the number of a change"));
        }
        if patchset.is_some_and(|patchset| patchset <= 0) {
            return Err(errors::field("patchset", "it must be a positive integer"));
        }
        let options = match patchset {
            Some(_) => "o=ALL_REVISIONS&o=ALL_COMMITS",
            None => "o=CURRENT_REVISION&o=CURRENT_COMMIT",
        };
        let url = format!("{}/changes/{change}?{options}", (self.base)(host));
        let body = self.get(host, change, &url).await?;
        let unreadable = || Status::unavailable(format!("{host} did not answer as Gerrit does"));
        let json = body.strip_prefix(GUARD).ok_or_else(unreadable)?;
        let found: Change = serde_json::from_slice(json).map_err(|_| unreadable())?;
        let revision = match patchset {
            Some(number) => { found.revisions.values() }.find(|revision| revision.number == number),
            None => found.revisions.get(&found.current_revision),
        };
        let revision = revision.ok_or_else(|| match patchset {
            Some(patchset) => Status::not_found(format!(
                "change {change} at {host} has no patch set {patchset}"
            )),
            None => unreadable(),
        })?;
        // In UTC, and written without saying so.
        let created = format!("{}Z", revision.created.replacen(' ', "T", 1));
        let created: Timestamp = created.parse().map_err(|_| unreadable())?;
        let Person { name, email } = &revision.commit.author;
        Ok(GetPatchResponse {
            host: host.to_owned(),
            change,
            patchset: revision.number,
            project: found.project,
            author: format!("{name} <{email}>"),
            subject: revision.commit.subject.clone(),
            created: created.to_string(),
        })
    }

    /// A patch set as a patch file, as `git format-patch` writes it.
    pub(crate) async fn file(&self, patch: &GetPatchResponse) -> Result<Vec<u8>, Status> {
        let GetPatchResponse {
            host,
            change,
            patchset,
            ..
        } = patch;
        let base = (self.base)(host);
        let url = format!("{base}/changes/{change}/revisions/{patchset}/patch");
        let body = self.get(host, *change, &url).await?;
        let body: Vec<u8> = { body.into_iter() }
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let unreadable = || Status::unavailable(format!("{host} did not answer as Gerrit does"));
        STANDARD.decode(body).map_err(|_| unreadable())
    }

    async fn get(&self, host: &str, change: i64, url: &str) -> Result<Vec<u8>, Status> {
        let failed = |error: reqwest::Error| {
            tracing::warn!(
                url,
                error = &error as &dyn std::error::Error,
                "Gerrit does not answer"
            );
            Status::unavailable(format!("{host} does not answer at the moment; try again"))
        };
        let mut answer = self.client.get(url).send().await.map_err(failed)?;
        match answer.status() {
            StatusCode::OK => {}
            // Changes that need permission look the same.
            StatusCode::NOT_FOUND | StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => {
                let message = format!("{host} has no public change {change}");
                return Err(Status::not_found(message));
            }
            status => {
                tracing::warn!(url, %status, "Gerrit refuses");
                let message = format!("{host} refuses at the moment ({status}); try again");
                return Err(Status::unavailable(message));
            }
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MOST_ANSWER_BYTES {
                let message = format!("the answer of {host} about change {change} is too long");
                return Err(Status::resource_exhausted(message));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

/// Returns true if the repository is that of a project at Gerrit: its URL ends with the name of the
/// project.
pub(crate) fn is_project_of(project: &str, repository: &str) -> bool {
    let repository = repository.trim_end_matches('/');
    let repository = repository.strip_suffix(".git").unwrap_or(repository);
    let before = repository.strip_suffix(project);
    !project.is_empty() && before.is_some_and(|before| before.ends_with(['/', ':']))
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::extract::{Path, RawQuery};
    use axum::http::header::LOCATION;
    use axum::response::IntoResponse;
    use axum::routing::get;
    use tonic::Code;

    use super::*;

    /// As the documentation shows them.
    const CHANGE: &str = r#")]}'
{
  "id": "src~main~I8473b95934b5732ac55d26311a706c9c2bde9940",
  "project": "chromium/src",
  "branch": "main",
  "subject": "Newest",
  "status": "NEW",
  "created": "2013-02-01 09:59:32.126000000",
  "_number": 7,
  "owner": { "_account_id": 1000096 },
  "current_revision": "27cc4558b5a3d3387dd11ee2df7a117e7e581822",
  "revisions": {
    "184ebe53805e102605d11f6b143486d15c23a09c": {
      "_number": 1,
      "created": "2013-02-01 09:59:32.126000000",
      "commit": { "author": { "name": "Ada", "email": "ada@example.org" }, "subject": "First" }
    },
    "27cc4558b5a3d3387dd11ee2df7a117e7e581822": {
      "_number": 2,
      "created": "2013-02-02 10:00:00.000000000",
      "commit": { "author": { "name": "Bo", "email": "bo@example.org" }, "subject": "Newest" }
    }
  }
}"#;

    /// A Gerrit on loopback in place of every host.
    async fn gerrit() -> Gerrit {
        let change = async |Path(number): Path<u64>, RawQuery(query): RawQuery| {
            assert!(query.unwrap().starts_with("o="));
            match number {
                7 => CHANGE.into_response(),
                8 => (StatusCode::FOUND, [(LOCATION, "/changes/7")]).into_response(),
                9 => "{}".into_response(),
                10 => [b'x'].repeat(MOST_ANSWER_BYTES + 1).into_response(),
                11 => StatusCode::BAD_GATEWAY.into_response(),
                12 => ")]}'\n{".into_response(),
                _ => (StatusCode::NOT_FOUND, "Not found: 1").into_response(),
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        PORT.set(port);
        let file = async |Path((number, patchset)): Path<(u64, u64)>| match (number, patchset) {
            (7, 2) => "ZGlmZiAtLWdpdA\n==\n".into_response(),
            (8, _) => "?".into_response(),
            _ => (StatusCode::NOT_FOUND, "Not found: 1").into_response(),
        };
        let routes = Router::new()
            .route("/changes/{number}", get(change))
            .route("/changes/{number}/revisions/{patchset}/patch", get(file));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Gerrit {
            base: |_| format!("http://127.0.0.1:{}", PORT.get()),
            ..Gerrit::new(vec!["googlesource.com".into()]).unwrap()
        }
    }

    thread_local! {
        static PORT: std::cell::Cell<u16> = const { std::cell::Cell::new(0) };
    }

    fn request(host: &str, change: i64, patchset: Option<i64>) -> GetPatchRequest {
        GetPatchRequest {
            host: host.into(),
            change,
            patchset,
        }
    }

    #[tokio::test]
    async fn a_change_is_shown_with_one_of_its_patch_sets() {
        let gerrit = gerrit().await;
        let host = "chromium-review.googlesource.com";
        let newest = gerrit.patch(request(host, 7, None)).await.unwrap();
        let expected = GetPatchResponse {
            host: host.into(),
            change: 7,
            patchset: 2,
            project: "chromium/src".into(),
            author: "Bo <bo@example.org>".into(),
            subject: "Newest".into(),
            created: "2013-02-02T10:00:00Z".into(),
        };
        assert_eq!(newest, expected);
        let first = gerrit.patch(request(host, 7, Some(1))).await.unwrap();
        assert_eq!((first.patchset, &*first.subject), (1, "First"));
        assert_eq!(first.created, "2013-02-01T09:59:32.126Z");
        for (change, patchset, expected) in [
            (7, Some(3), Code::NotFound),
            (1, None, Code::NotFound),
            // The target of a redirect is not asked.
            (8, None, Code::Unavailable),
            (9, None, Code::Unavailable),
            (10, None, Code::ResourceExhausted),
            (11, None, Code::Unavailable),
            (12, None, Code::Unavailable),
            (0, None, Code::InvalidArgument),
            (7, Some(0), Code::InvalidArgument),
        ] {
            let failed = gerrit.patch(request(host, change, patchset)).await;
            assert_eq!(failed.unwrap_err().code(), expected, "{change}");
        }
    }

    #[tokio::test]
    async fn a_patch_set_is_a_patch_file() {
        let gerrit = gerrit().await;
        let patch = |change, patchset| GetPatchResponse {
            host: "chromium-review.googlesource.com".into(),
            change,
            patchset,
            ..GetPatchResponse::default()
        };
        let file = gerrit.file(&patch(7, 2)).await.unwrap();
        assert_eq!(file, b"diff --git");
        for (change, expected) in [(8, Code::Unavailable), (9, Code::NotFound)] {
            let failed = gerrit.file(&patch(change, 2)).await.unwrap_err();
            assert_eq!(failed.code(), expected, "{change}");
        }
    }

    #[test]
    fn a_change_is_one_of_a_repository_or_not() {
        for (repository, is_it) in [
            ("https://chromium.googlesource.com/chromium/src.git", true),
            ("https://chromium.googlesource.com/a/chromium/src/", true),
            ("git@host:chromium/src", true),
            ("https://example.org/chromium/src2", false),
            ("https://example.org/other-chromium/src", false),
            ("chromium/src", false),
        ] {
            assert_eq!(
                is_project_of("chromium/src", repository),
                is_it,
                "{repository}"
            );
        }
        assert!(!is_project_of("", "https://example.org/"));
    }

    #[tokio::test]
    async fn a_host_that_is_not_listed_is_not_asked() {
        let gerrit = gerrit().await;
        for host in [
            "x.googlesource.com.evil.example",
            "evil-googlesource.com",
            "user:pass@googlesource.com",
            "googlesource.com:8443",
            "googlesource.com.",
            "127.0.0.1",
            "",
        ] {
            let refused = gerrit.patch(request(host, 7, None)).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidArgument, "{host}");
        }
    }
}
