//! Requests to identity providers: OpenID Connect's discovery, keys, tokens and users.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde_json::Value as Json;
use tonic::Status;

use super::cached_document::{CachedDocument, away};
use super::jwt::Key;

/// The longest that an answer may take.
const DEADLINE: Duration = Duration::from_secs(5);

/// The most bytes of an answer.
const MOST_BYTES: usize = 256 << 10;

/// The connection to a provider.
#[derive(Debug)]
pub(super) struct Provider {
    issuer: String,
    client: Client,
    metadata: Arc<CachedDocument<Metadata>>,
    keys: Arc<CachedDocument<Vec<Key>>>,
    /// The address of the keys, unless from discovery.
    keys_at: Option<String>,
}

/// The metadata of a provider.
#[derive(Debug, Clone)]
pub(super) struct Metadata(Json);

impl Metadata {
    /// An endpoint, by its name.
    pub(super) fn endpoint(&self, name: &str) -> Result<Url, Status> {
        let url = self.0.get(name).and_then(Json::as_str).map(address);
        let url = url.and_then(Result::ok);
        url.ok_or_else(|| {
            tracing::error!(
                endpoint = name,
                "the identity provider's metadata has no such endpoint that can be used"
            );
            away()
        })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    /// Returns true if a flag is set.
    pub(super) fn says(&self, name: &str) -> bool {
        self.0.get(name).and_then(Json::as_bool) == Some(true)
    }

    /// Returns true if a list of the metadata has an entry; an absent list has the default.
    pub(super) fn lists(&self, name: &str, entry: &str, default: &str) -> bool {
        match self.0.get(name).and_then(Json::as_array) {
            Some(entries) => entries.iter().any(|found| found == entry),
            None => entry == default,
        }
    }
}

/// Parses an address that secrets and keys may cross the network to: HTTPS, or one of this machine.
pub(crate) fn address(text: &str) -> Result<Url, &'static str> {
    let url: Url = text.parse().map_err(|_| "is not a URL")?;
    let is_local = match url.host_str() {
        Some("localhost" | "127.0.0.1" | "[::1]") => true,
        Some(_) => false,
        None => return Err("names no host"),
    };
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_local => Ok(url),
        _ => Err("must begin with https://"),
    }
}

impl Provider {
    pub(super) fn new(issuer: &str, keys_at: Option<&str>) -> Result<Self, reqwest::Error> {
        // There may be one already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder()
            .timeout(DEADLINE)
            .redirect(Policy::none())
            .user_agent(concat!("pinpoint-service/", env!("CARGO_PKG_VERSION")));
        if issuer.starts_with("http:") {
            // It is on this machine, where no proxy leads.
            client = client.no_proxy();
        }
        Ok(Self {
            issuer: issuer.to_owned(),
            client: client.build()?,
            metadata: CachedDocument::new(),
            keys: CachedDocument::new(),
            keys_at: keys_at.map(str::to_owned),
        })
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the metadata of the provider.
    pub(super) async fn metadata(&self) -> Result<Arc<Metadata>, Status> {
        let fetch = || {
            let issuer = self.issuer.clone();
            let base = issuer.trim_end_matches('/');
            let url = format!("{base}/.well-known/openid-configuration");
            let request = self.client.get(url);
            async move {
                let json = document(request).await?;
                if json["issuer"] != *issuer {
                    tracing::error!(found = %json["issuer"], issuer, "the provider says that it is another issuer");
                    return Err(away());
                }
                Ok(Metadata(json))
            }
        };
        self.metadata.get(|_| false, fetch).await
    }

    /// Returns the keys of the provider: newer ones where the cached ones lack one.
    pub(super) async fn keys(
        &self,
        lack: impl Fn(&Vec<Key>) -> bool + Send + Sync,
    ) -> Result<Arc<Vec<Key>>, Status> {
        let url = match &self.keys_at {
            Some(url) => url.clone(),
            None => self.metadata().await?.endpoint("jwks_uri")?.into(),
        };
        let request = self.client.get(url);
        let fetch = || async move {
            let json = document(request).await?;
            let keys = json["keys"].as_array().ok_or_else(|| {
                tracing::error!("the keys of the identity provider can't be read");
                away()
            })?;
            Ok(keys.iter().filter_map(Key::read).collect())
        };
        self.keys.get(lack, fetch).await
    }

    /// Exchanges a code for tokens, with this service's name and secret at the provider.
    pub(super) async fn exchange(
        &self,
        client: (&str, &str),
        fields: &[(&str, &str)],
    ) -> Result<Json, Status> {
        let metadata = self.metadata().await?;
        let url = metadata.endpoint("token_endpoint")?;
        let (id, secret) = client;
        let methods = "token_endpoint_auth_methods_supported";
        let basic = "client_secret_basic";
        let mut request = self.client.post(url).header(ACCEPT, "application/json");
        let body = if metadata.lists(methods, basic, basic) {
            // Encoded as in a form (RFC 6749, section 2.3.1).
            let [id, secret] = [id, secret]
                .map(|text| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>());
            request = request.basic_auth(id, Some(secret));
            form(fields)
        } else {
            form(&[fields, &[("client_id", id), ("client_secret", secret)]].concat())
        };
        let request = request
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(body);
        match answer(request).await? {
            (StatusCode::OK, json) => Ok(json),
            (_, json) if json["error"] == "invalid_grant" => Err(Status::unauthenticated(
                "the code of this sign-in was used or is too old",
            )),
            (status, json) => {
                tracing::error!(%status, error = %json["error"], "the identity provider refuses this service");
                Err(Status::internal(
                    "the identity provider refuses this service; its operator finds the reason in the log",
                ))
            }
        }
    }

    /// The provider's information about the user of an access token.
    pub(super) async fn user(&self, access_token: &str) -> Result<Json, Status> {
        let url = self.metadata().await?.endpoint("userinfo_endpoint")?;
        let request = self.client.get(url);
        document(request.header(AUTHORIZATION, format!("Bearer {access_token}"))).await
    }
}

fn form(fields: &[(&str, &str)]) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields).finish()
}

/// The document of a successful answer.
async fn document(request: RequestBuilder) -> Result<Json, Status> {
    match answer(request).await? {
        (StatusCode::OK, json) => Ok(json),
        (status, _) => {
            tracing::warn!(%status, "the identity provider answers with an error");
            Err(away())
        }
    }
}

/// An answer in JSON.
async fn answer(request: RequestBuilder) -> Result<(StatusCode, Json), Status> {
    let failed = |error: reqwest::Error| {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "the identity provider does not answer");
        away()
    };
    let mut response = request.send().await.map_err(failed)?;
    let mut bytes = Vec::new();
    while let Some(part) = response.chunk().await.map_err(failed)? {
        if bytes.len() + part.len() > MOST_BYTES {
            tracing::warn!("the answer of the identity provider is too large");
            return Err(away());
        }
        bytes.extend_from_slice(&part);
    }
    // Other formats, perhaps an error page, count as empty.
    let json = serde_json::from_slice(&bytes).unwrap_or_default();
    match response.status() {
        status if status.is_server_error() => {
            tracing::warn!(%status, "the identity provider answers with an error");
            Err(away())
        }
        status => Ok((status, json)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_cross_no_network_in_the_clear() {
        for good in [
            "https://accounts.example.org",
            "http://localhost:1",
            "http://127.0.0.1:1/a",
            "http://[::1]:1",
        ] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in [
            "http://accounts.example.org",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "file:///etc/passwd",
            "accounts.example.org",
            "",
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
