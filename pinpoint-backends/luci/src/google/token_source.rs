//! The sources of tokens.

use std::process::Stdio;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::Request;
use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::secret::Secret;
use super::service_account::ServiceAccountKey;
use super::tokens::TokenError;
use super::transport::Transport;

/// The address of the metadata server, inside Google Cloud.
const METADATA: &str = "http://metadata.google.internal";

/// The longest text of a token and its metadata.
const MOST_BYTES: usize = 64 << 10;

/// The maximum time to make a token. A person may have to confirm it.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(60);

/// The number of runs of a command that does not end. A person may have been away the first time.
const MOST_HANGS: u32 = 2;

/// A command that does not report the end of its token's life is asked again after this time:
/// `luci-auth token` promises no longer life by default.
const ASSUMED_LIFE: Duration = Duration::from_secs(60);

/// A source of tokens. As text: `none`, `metadata`, `metadata:ADDRESS`, `key:FILE`,
/// `command:PROGRAM ARGUMENTS…`.
///
/// ```
/// use pinpoint_luci::google::TokenSource;
///
/// let source: TokenSource = "command:luci-auth token -scopes {scopes}".parse()?;
/// assert!(matches!(source, TokenSource::Command(words) if words.len() == 4));
/// # Ok::<(), pinpoint_luci::google::UnknownTokenSource>(())
/// ```
#[derive(Debug, Clone)]
pub enum TokenSource {
    /// Requests carry no token.
    None,
    /// The key of a service account.
    ServiceAccount(Box<ServiceAccountKey>),
    /// The metadata server at this address, for the machine's own account.
    Metadata(String),
    /// A program and its arguments, which prints a token: alone on its first line, or as
    /// JSON with `token` and `expiry` (seconds since 1970), as `luci-auth token -json-output -`
    /// does. `{scopes}` stands for the scopes, separated by spaces.
    Command(Vec<String>),
}

/// The text names no source of tokens.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownTokenSource {
    /// None of the forms.
    #[error(
        "{0:?} is not a source of tokens: use `none`, `metadata`, `key:FILE` or `command:PROGRAM …`"
    )]
    Form(String),
    /// The command has no program.
    #[error("`command:` needs the program that prints a token, as `command:luci-auth token`")]
    NoProgram,
    /// The file cannot be read.
    #[error("the key {path:?} can't be read: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The file holds no key.
    #[error("{path:?}: {source}")]
    NoKey {
        /// The file.
        path: String,
        /// The cause.
        source: TokenError,
    },
}

impl FromStr for TokenSource {
    type Err = UnknownTokenSource;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.split_once(':') {
            None if text == "none" => Self::None,
            None if text == "metadata" => Self::Metadata(METADATA.into()),
            Some(("metadata", address)) => Self::Metadata(address.trim_end_matches('/').into()),
            Some(("key", path)) => {
                let path = path.to_owned();
                let json = match std::fs::read(&path) {
                    Ok(json) => json,
                    Err(source) => return Err(UnknownTokenSource::Unreadable { path, source }),
                };
                match ServiceAccountKey::read(&json) {
                    Ok(key) => Self::ServiceAccount(Box::new(key)),
                    Err(source) => return Err(UnknownTokenSource::NoKey { path, source }),
                }
            }
            Some(("command", command)) => {
                let words: Vec<_> = command.split_whitespace().map(str::to_owned).collect();
                if words.is_empty() {
                    return Err(UnknownTokenSource::NoProgram);
                }
                Self::Command(words)
            }
            _ => return Err(UnknownTokenSource::Form(text.into())),
        })
    }
}

/// A new token.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) token: Secret,
    /// Its remaining life.
    pub(super) life: Duration,
}

/// The answer of an authorization server (RFC 6749, section 5.1).
#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    expires_in: u64,
}

/// The output of `luci-auth token -json-output -`.
#[derive(Deserialize)]
struct Printed {
    token: String,
    expiry: u64,
}

impl TokenSource {
    /// Makes a token; `None` where requests carry none.
    pub(super) async fn fetch(
        &self,
        scopes: &[String],
        transport: &dyn Transport,
    ) -> Result<Option<Fresh>, TokenError> {
        match self {
            Self::None => Ok(None),
            Self::ServiceAccount(key) => {
                let request = key.request(scopes, since_1970())?;
                answer(transport, request, "the token endpoint").await
            }
            Self::Metadata(address) => {
                let url = format!(
                    "{address}/computeMetadata/v1/instance/service-accounts/default/token?scopes={}",
                    scopes.join(",")
                );
                let request = Request::get(url).header("Metadata-Flavor", "Google");
                let request = request.body(Vec::new()).map_err(TokenError::Request)?;
                answer(transport, request, "the metadata server").await
            }
            Self::Command(words) => patiently(words, scopes).await.map(Some),
        }
    }
}

fn since_1970() -> Duration {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default()
}

async fn answer(
    transport: &dyn Transport,
    request: Request<Vec<u8>>,
    server: &'static str,
) -> Result<Option<Fresh>, TokenError> {
    let failed = |source| TokenError::Unreachable { server, source };
    let answer = timeout(TOKEN_TIMEOUT, transport.send(request, MOST_BYTES)).await;
    let answer = answer.map_err(|_| TokenError::TimedOut(TOKEN_TIMEOUT))?;
    let answer = answer.map_err(failed)?;
    if !answer.status().is_success() {
        return Err(TokenError::Refused {
            server,
            status: answer.status().as_u16(),
            reason: reason(answer.body()),
        });
    }
    let read: TokenResponse =
        serde_json::from_slice(answer.body()).map_err(|_| TokenError::Unreadable(server))?;
    if read.expires_in == 0 {
        return Err(TokenError::Expired(server.into()));
    }
    let token = usable(&read.access_token).ok_or(TokenError::Unreadable(server))?;
    Ok(Some(Fresh {
        token,
        life: Duration::from_secs(read.expires_in),
    }))
}

/// The `error` and its description (RFC 6749, section 5.2). The rest of the answer is not shown: it
/// might hold a token.
fn reason(body: &[u8]) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Refusal {
        error: String,
        error_description: String,
    }
    let Refusal {
        error,
        error_description,
    } = serde_json::from_slice(body).unwrap_or_default();
    let parts = [error, error_description];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    match parts.is_empty() {
        true => "it gives no reason".into(),
        false => parts.join(": "),
    }
}

/// Runs a command, and again if it does not end.
async fn patiently(words: &[String], scopes: &[String]) -> Result<Fresh, TokenError> {
    let (program, _) = split(words)?;
    for tried in 1..=MOST_HANGS {
        match timeout(TOKEN_TIMEOUT, run(words, scopes)).await {
            Ok(ended) => return ended,
            Err(_) if tried < MOST_HANGS => {
                tracing::warn!("{program:?}, which prints tokens, does not end; it is run again");
            }
            Err(_) => {}
        }
    }
    Err(TokenError::Hangs {
        program: program.clone(),
        after: TOKEN_TIMEOUT,
        tries: MOST_HANGS,
    })
}

/// The program and its arguments.
fn split(words: &[String]) -> Result<(&String, &[String]), TokenError> {
    words
        .split_first()
        .ok_or(TokenError::Unreadable("the command"))
}

async fn run(words: &[String], scopes: &[String]) -> Result<Fresh, TokenError> {
    let (program, arguments) = split(words)?;
    let scopes = scopes.join(" ");
    let arguments = arguments
        .iter()
        .map(|argument| argument.replace("{scopes}", &scopes));
    let failed = |source| TokenError::Command {
        program: program.clone(),
        source,
    };
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // It explains there how to sign in.
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn();
    let mut child = child.map_err(failed)?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let mut stdout = stdout.take(MOST_BYTES as u64 + 1);
        stdout.read_to_end(&mut output).await.map_err(failed)?;
    }
    if output.len() > MOST_BYTES {
        let program = program.clone();
        return Err(TokenError::NotPrinted { program });
    }
    let status = child.wait().await.map_err(failed)?;
    if !status.success() {
        let program = program.clone();
        return Err(TokenError::Failed { program, status });
    }
    printed(program, &String::from_utf8_lossy(&output), since_1970())
}

fn printed(program: &str, text: &str, now: Duration) -> Result<Fresh, TokenError> {
    let none = || TokenError::NotPrinted {
        program: program.into(),
    };
    if text.trim_start().starts_with('{') {
        let Printed { token, expiry } = serde_json::from_str(text).map_err(|_| none())?;
        let life = Duration::from_secs(expiry).saturating_sub(now);
        if life.is_zero() {
            return Err(TokenError::Expired(format!("{program:?}")));
        }
        return Ok(Fresh {
            token: usable(&token).ok_or_else(none)?,
            life,
        });
    }
    let first = text.lines().next().unwrap_or_default().trim();
    Ok(Fresh {
        token: usable(first).ok_or_else(none)?,
        life: ASSUMED_LIFE,
    })
}

/// Checks that a token is valid in a header: visible ASCII without spaces.
fn usable(token: &str) -> Option<Secret> {
    let is_usable = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    is_usable.then(|| Secret::new(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_named_by_text() {
        let parse = |text: &str| text.parse::<TokenSource>();
        assert!(matches!(parse("none"), Ok(TokenSource::None)));
        assert!(matches!(parse("metadata"), Ok(TokenSource::Metadata(at)) if at == METADATA));
        let at = parse("metadata:http://127.0.0.1:7/").unwrap();
        assert!(matches!(at, TokenSource::Metadata(at) if at == "http://127.0.0.1:7"));
        for (text, expected) in [
            ("", "is not a source of tokens"),
            ("luci-auth token", "is not a source of tokens"),
            ("command: ", "needs the program"),
            ("key:/nonexistent/key.json", "can't be read"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_command_prints_a_token_alone_or_as_json() {
        let read = |text| printed("auth", text, Duration::from_secs(1_000));
        let plain = read("ya29.a\n").unwrap();
        assert_eq!((plain.token.reveal(), plain.life), ("ya29.a", ASSUMED_LIFE));
        let json = read(r#"{"token": "ya29.b", "expiry": 1090}"#).unwrap();
        let life = Duration::from_secs(90);
        assert_eq!((json.token.reveal(), json.life), ("ya29.b", life));
        assert!(read(r#"{"token": "ya29.b", "expiry": 18446744073709551615}"#).is_ok());
        for (text, expected) in [
            ("", "prints no token"),
            ("\n", "prints no token"),
            ("not logged in", "prints no token"),
            ("{\"token\": 3}", "prints no token"),
            ("ya29.\u{e9}", "prints no token"),
            (r#"{"token": "ya29.b", "expiry": 990}"#, "has expired"),
        ] {
            let error = read(text).unwrap_err();
            assert!(!error.is_transient(), "{text}");
            let error = error.to_string();
            assert!(error.contains("\"auth\""), "{error}");
            assert!(
                error.contains(expected) && !error.contains("ya29"),
                "{error}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_command_that_does_not_end_is_run_twice() {
        let words = ["sleep", "1000"].map(str::to_owned);
        let error = patiently(&words, &[]).await.unwrap_err();
        assert!(!error.is_transient());
        assert!(
            error.to_string().contains("within 60 s, 2 times"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_command_that_prints_without_end_is_ended() {
        let error = run(&["yes".to_owned()], &[]).await.unwrap_err();
        assert!(matches!(error, TokenError::NotPrinted { .. }), "{error}");
    }

    #[tokio::test]
    async fn a_command_gets_the_scopes() {
        let words = ["printf", "%s", "{scopes}"].map(str::to_owned);
        let fresh = run(&words, &["a".into()]).await.unwrap();
        assert_eq!(fresh.token.reveal(), "a");
        let failed = run(&["false".to_owned()], &[]).await.unwrap_err();
        assert!(failed.to_string().contains("\"false\""), "{failed}");
        let missing = run(&["/nonexistent/program".to_owned()], &[]).await;
        assert!(matches!(missing, Err(TokenError::Command { .. })));
    }
}
