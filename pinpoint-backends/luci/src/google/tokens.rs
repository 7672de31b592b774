//! Tokens, renewed before they are needed.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::secret::Secret;
use super::token_source::TokenSource;
use super::transport::{Transport, TransportError};

/// A token is renewed after this time, whatever its stated life.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 3600);

/// A token is renewed when it has less than this left, and less than a quarter of its life.
const MARGIN: Duration = Duration::from_secs(300);

/// A token cannot be made. No variant shows a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The key is invalid.
    #[error("the key of the service account can't be used: {0}")]
    Key(&'static str),
    /// The address of the server is invalid.
    #[error("a token can't be asked for: {0}")]
    Request(#[source] http::Error),
    /// The server does not answer.
    #[error("{server} gives no token: {source}")]
    Unreachable {
        /// The server.
        server: &'static str,
        /// The cause.
        source: TransportError,
    },
    /// The server refuses a token.
    #[error("{server} gives no token (HTTP status {status}): {reason}")]
    Refused {
        /// The server.
        server: &'static str,
        /// The status.
        status: u16,
        /// The reason from the server.
        reason: String,
    },
    /// The answer holds no token.
    #[error("{0} does not answer with a token")]
    Unreadable(&'static str),
    /// The token has expired.
    #[error("{0} gives a token that has expired; sign in again, and check this machine's clock")]
    Expired(String),
    /// The command cannot be run.
    #[error("{program:?}, which prints tokens, can't be run: {source}")]
    Command {
        /// The program.
        program: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The command failed.
    #[error("{program:?}, which prints tokens, failed ({status}): run it by hand to see why")]
    Failed {
        /// The program.
        program: String,
        /// Its exit status.
        status: std::process::ExitStatus,
    },
    /// The output of the command is not a token.
    #[error(
        "{program:?} prints no token: run it by hand; its first line must be a token and nothing \
         else, or its output JSON with `token` and `expiry`"
    )]
    NotPrinted {
        /// The program.
        program: String,
    },
    /// The command does not end.
    #[error(
        "{program:?}, which prints tokens, did not end within {} s, {tries} times: run it by hand \
         to see what it waits for",
        .after.as_secs()
    )]
    Hangs {
        /// The program.
        program: String,
        /// The limit of a try.
        after: Duration,
        /// The number of runs.
        tries: u32,
    },
    /// A server takes too long.
    #[error("there is no token after {} s", .0.as_secs())]
    TimedOut(Duration),
}

impl TokenError {
    /// Returns whether it may pass.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { source, .. } => matches!(source, TransportError::Broken(_)),
            Self::Refused { status, .. } => *status >= 500 || *status == 429,
            Self::TimedOut(_) | Self::Unreadable(_) => true,
            Self::Key(_)
            | Self::Request(_)
            | Self::Expired(_)
            | Self::Command { .. }
            | Self::Failed { .. }
            | Self::NotPrinted { .. }
            | Self::Hangs { .. } => false,
        }
    }
}

/// The tokens for some scopes, renewed before they expire. Clones share them.
///
/// However many ask at once, a token is made once; all of them get it, or the error.
#[derive(Clone)]
pub struct Tokens(Arc<Shared>);

struct Shared {
    source: TokenSource,
    scopes: Vec<String>,
    transport: Arc<dyn Transport>,
    kept: RwLock<Option<CachedToken>>,
    /// Held during a renewal, with the error of the last one if it failed.
    renewal: Mutex<Option<Arc<TokenError>>>,
    /// The number of renewals that have ended.
    renewals: AtomicU64,
}

#[derive(Clone)]
struct CachedToken {
    token: Secret,
    renewed_from: Instant,
    expires: Instant,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tokens")
            .field("source", &self.0.source)
            .field("scopes", &self.0.scopes)
            .finish_non_exhaustive()
    }
}

impl Tokens {
    /// Tokens of this source for these scopes; servers are reached by the transport.
    pub fn new(source: TokenSource, scopes: &[&str], transport: Arc<dyn Transport>) -> Self {
        Self(Arc::new(Shared {
            source,
            scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
            transport,
            kept: RwLock::new(None),
            renewal: Mutex::new(None),
            renewals: AtomicU64::new(0),
        }))
    }

    /// Returns whether requests carry no token.
    pub fn are_none(&self) -> bool {
        matches!(self.0.source, TokenSource::None)
    }

    /// A token that stays valid for a while; `None` where requests carry none.
    ///
    /// # Errors
    ///
    /// When no token can be made, and the last one has expired.
    pub async fn get(&self) -> Result<Option<Secret>, Arc<TokenError>> {
        if self.are_none() {
            return Ok(None);
        }
        let shared = &*self.0;
        let seen = shared.renewals.load(Ordering::SeqCst);
        let now = Instant::now();
        let kept = shared.kept().filter(|kept| now < kept.expires);
        let mut last_error = match kept {
            Some(kept) if now < kept.renewed_from => return Ok(Some(kept.token)),
            // It is being renewed, and this one is still valid.
            Some(kept) => match shared.renewal.try_lock() {
                Ok(lock) => lock,
                Err(_) => return Ok(Some(kept.token)),
            },
            None => shared.renewal.lock().await,
        };
        if shared.renewals.load(Ordering::SeqCst) != seen {
            // It was renewed during this wait.
            if let Some(kept) = shared.kept().filter(|kept| Instant::now() < kept.expires) {
                return Ok(Some(kept.token));
            }
            if let Some(error) = &*last_error {
                return Err(error.clone());
            }
        }
        let renewed = shared.renew().await;
        shared.renewals.fetch_add(1, Ordering::SeqCst);
        match renewed {
            Ok(token) => {
                *last_error = None;
                Ok(token)
            }
            Err(error) => {
                let error = Arc::new(error);
                *last_error = Some(error.clone());
                match shared.kept().filter(|kept| Instant::now() < kept.expires) {
                    Some(kept) => {
                        tracing::warn!(%error, "a token can't be renewed; the last one is still good");
                        Ok(Some(kept.token))
                    }
                    None => Err(error),
                }
            }
        }
    }

    /// Discards a token that a service refused.
    pub fn refused(&self, token: &Secret) {
        let mut kept = self.0.kept.write().unwrap_or_else(|it| it.into_inner());
        if kept.as_ref().is_some_and(|kept| kept.token == *token) {
            *kept = None;
        }
    }
}

impl Shared {
    fn kept(&self) -> Option<CachedToken> {
        self.kept
            .read()
            .unwrap_or_else(|it| it.into_inner())
            .clone()
    }

    async fn renew(&self) -> Result<Option<Secret>, TokenError> {
        let asked = Instant::now();
        let Some(fresh) = self.source.fetch(&self.scopes, &*self.transport).await? else {
            return Ok(None);
        };
        let life = fresh.life.min(LONGEST_LIFE);
        let kept = CachedToken {
            token: fresh.token.clone(),
            // Its life began before the answer came.
            renewed_from: asked + life.saturating_sub(MARGIN.min(life / 4)),
            expires: asked + life,
        };
        *self.kept.write().unwrap_or_else(|it| it.into_inner()) = Some(kept);
        tracing::debug!(seconds = life.as_secs(), "a token was made");
        Ok(Some(fresh.token))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use async_trait::async_trait;
    use futures_util::future::join_all;
    use http::{Request, Response};
    use tokio::time::{advance, sleep, timeout};

    use super::*;

    /// A metadata server whose tokens are numbered.
    struct Server {
        asked: AtomicUsize,
        fails: std::sync::atomic::AtomicBool,
        /// Seconds that its tokens live.
        life: u64,
    }

    impl Server {
        fn with_life(life: u64) -> Self {
            Self {
                asked: AtomicUsize::new(0),
                fails: false.into(),
                life,
            }
        }
    }

    #[async_trait]
    impl Transport for Server {
        async fn send(
            &self,
            request: Request<Vec<u8>>,
            _: usize,
        ) -> Result<Response<Vec<u8>>, TransportError> {
            assert_eq!(request.headers()["Metadata-Flavor"], "Google");
            assert_eq!(request.uri().query(), Some("scopes=a,b"));
            let number = self.asked.fetch_add(1, Ordering::SeqCst);
            sleep(Duration::from_secs(1)).await;
            if self.fails.load(Ordering::SeqCst) {
                let refusal = r#"{"error": "invalid_scope", "access_token": "hidden"}"#;
                let answer = Response::builder().status(503);
                return Ok(answer.body(refusal.into()).unwrap());
            }
            let life = self.life;
            let body = format!(r#"{{"access_token": "token-{number}", "expires_in": {life}}}"#);
            Ok(Response::new(body.into()))
        }
    }

    fn tokens() -> (Arc<Server>, Tokens) {
        let server = Arc::new(Server::with_life(3600));
        let source = TokenSource::Metadata("http://metadata".into());
        let tokens = Tokens::new(source, &["a", "b"], server.clone());
        (server, tokens)
    }

    async fn text(tokens: &Tokens) -> String {
        tokens.get().await.unwrap().unwrap().reveal().to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn many_that_wait_share_one_renewal() {
        let (server, tokens) = tokens();
        let all = join_all((0..100).map(|_| text(&tokens))).await;
        assert!(all.iter().all(|token| token == "token-0"));
        assert_eq!(server.asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn many_that_wait_share_one_failure() {
        let (server, tokens) = tokens();
        server.fails.store(true, Ordering::SeqCst);
        let all = join_all((0..100).map(|_| tokens.get())).await;
        assert_eq!(server.asked.load(Ordering::SeqCst), 1);
        for error in all.into_iter().map(Result::unwrap_err) {
            assert!(error.is_transient());
            let error = error.to_string();
            assert!(error.contains("invalid_scope") && !error.contains("hidden"));
        }
        // The next one tries again.
        server.fails.store(false, Ordering::SeqCst);
        assert_eq!(text(&tokens).await, "token-1");
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_renewed_before_it_expires() {
        let (server, tokens) = tokens();
        assert_eq!(text(&tokens).await, "token-0");
        advance(Duration::from_secs(3600 - 302)).await;
        assert_eq!(text(&tokens).await, "token-0");
        advance(Duration::from_secs(5)).await;
        // One renews; the others use the one that is still valid.
        let mut all = join_all((0..10).map(|_| text(&tokens))).await;
        all.sort();
        assert_eq!(all.last().unwrap(), "token-1");
        assert!(all[..9].iter().all(|token| token == "token-0"));
        assert_eq!(server.asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_serves_to_its_end_when_it_cannot_be_renewed() {
        let (server, tokens) = tokens();
        assert_eq!(text(&tokens).await, "token-0");
        server.fails.store(true, Ordering::SeqCst);
        advance(Duration::from_secs(3500)).await;
        assert_eq!(text(&tokens).await, "token-0");
        advance(Duration::from_secs(100)).await;
        assert!(tokens.get().await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_token_is_not_given_out_again() {
        let (_, tokens) = tokens();
        let first = tokens.get().await.unwrap().unwrap();
        tokens.refused(&first);
        assert_eq!(text(&tokens).await, "token-1");
        // It was replaced already.
        tokens.refused(&first);
        assert_eq!(text(&tokens).await, "token-1");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_leaves_does_not_hold_up_the_others() {
        let (server, tokens) = tokens();
        let short = timeout(Duration::from_millis(10), tokens.get()).await;
        assert!(short.is_err());
        assert_eq!(text(&tokens).await, "token-1");
        assert_eq!(server.asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn no_token_lives_for_longer_than_a_day() {
        let server = Arc::new(Server::with_life(u64::MAX));
        let source = TokenSource::Metadata("http://metadata".into());
        let tokens = Tokens::new(source, &["a", "b"], server.clone());
        assert_eq!(text(&tokens).await, "token-0");
        advance(LONGEST_LIFE).await;
        assert_eq!(text(&tokens).await, "token-1");
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_that_has_expired_is_none() {
        let server = Arc::new(Server::with_life(0));
        let source = TokenSource::Metadata("http://metadata".into());
        let tokens = Tokens::new(source, &["a", "b"], server.clone());
        let error = tokens.get().await.unwrap_err();
        assert!(!error.is_transient());
        assert!(error.to_string().contains("has expired"), "{error}");
    }

    #[tokio::test]
    async fn none_is_none() {
        let (server, _) = tokens();
        let tokens = Tokens::new(TokenSource::None, &["a"], server.clone());
        assert!(tokens.get().await.unwrap().is_none());
        assert_eq!(server.asked.load(Ordering::SeqCst), 0);
    }
}
