//! The errors of services.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::tokens::TokenError;
use super::transport::TransportError;

/// A [status code of gRPC](https://grpc.io/docs/guides/status-codes/).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u32);

impl Code {
    /// No error.
    pub const OK: Self = Self(0);
    /// The caller canceled the call.
    pub const CANCELED: Self = Self(1);
    /// An error without its own code.
    pub const UNKNOWN: Self = Self(2);
    /// The request is wrong.
    pub const INVALID_ARGUMENT: Self = Self(3);
    /// It took too long.
    pub const DEADLINE_EXCEEDED: Self = Self(4);
    /// Not found.
    pub const NOT_FOUND: Self = Self(5);
    /// It exists already.
    pub const ALREADY_EXISTS: Self = Self(6);
    /// The caller lacks permission.
    pub const PERMISSION_DENIED: Self = Self(7);
    /// A quota is used up.
    pub const RESOURCE_EXHAUSTED: Self = Self(8);
    /// Invalid in this state.
    pub const FAILED_PRECONDITION: Self = Self(9);
    /// Another client interfered.
    pub const ABORTED: Self = Self(10);
    /// Past the end.
    pub const OUT_OF_RANGE: Self = Self(11);
    /// The server does not support it.
    pub const UNIMPLEMENTED: Self = Self(12);
    /// The server is at fault.
    pub const INTERNAL: Self = Self(13);
    /// The server is unavailable at the moment.
    pub const UNAVAILABLE: Self = Self(14);
    /// Data were lost.
    pub const DATA_LOSS: Self = Self(15);
    /// The caller has no valid token.
    pub const UNAUTHENTICATED: Self = Self(16);

    /// Returns whether it is one of those that LUCI's clients take for transient: unknown,
    /// internal, unavailable.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::UNKNOWN | Self::INTERNAL | Self::UNAVAILABLE)
    }
}

/// The names of the codes, by number.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize) {
            Some(name) => formatter.write_str(name),
            None => write!(formatter, "code {}", self.0),
        }
    }
}

/// A failed call to a service. No variant shows a secret.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// No token is available.
    #[error("{service} can't be asked: {source}")]
    Token {
        /// The service.
        service: &'static str,
        /// The cause.
        source: Arc<TokenError>,
    },
    /// No answer came.
    #[error("{service} can't be reached: {source}")]
    Transport {
        /// The service.
        service: &'static str,
        /// The cause.
        source: Arc<TransportError>,
    },
    /// The answer takes too long.
    #[error("{service} gave no answer within {} s", .after.as_secs())]
    TimedOut {
        /// The service.
        service: &'static str,
        /// The limit.
        after: Duration,
    },
    /// An HTTP error.
    #[error("{service} answers with HTTP status {status}{text}")]
    Status {
        /// The service.
        service: &'static str,
        /// The status.
        status: u16,
        /// The beginning of the answer, after `: `.
        text: String,
        /// The wait that the service asks for.
        retry_after: Option<Duration>,
    },
    /// An error of the method.
    #[error("{service} answers {code}{text}")]
    Code {
        /// The service.
        service: &'static str,
        /// The code.
        code: Code,
        /// The service's own words, after `: `.
        text: String,
    },
    /// The answer has the wrong form.
    #[error("{service} gave an answer that can't be read: {reason}")]
    Unreadable {
        /// The service.
        service: &'static str,
        /// The problem.
        reason: String,
    },
}

impl ServiceError {
    /// Returns whether the same request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Token { source, .. } => source.is_transient(),
            Self::Transport { source, .. } => matches!(**source, TransportError::Broken(_)),
            Self::TimedOut { .. } | Self::Unreadable { .. } => true,
            Self::Status { status, .. } => matches!(status, 408 | 429 | 500 | 502..=504),
            Self::Code { code, .. } => code.is_transient(),
        }
    }

    /// Returns whether the answer has the wrong form, so that another server may have given it.
    pub(super) fn is_unreadable(&self) -> bool {
        match self {
            Self::Token { source, .. } => matches!(**source, TokenError::Unreadable(_)),
            Self::Unreadable { .. } => true,
            _ => false,
        }
    }

    /// Returns whether the service refused before it did anything.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::Token { .. } | Self::Status { status: 429, .. })
    }

    /// Returns whether the service refused the token.
    pub fn is_unauthenticated(&self) -> bool {
        match self {
            Self::Status { status, .. } => *status == 401,
            Self::Code { code, .. } => *code == Code::UNAUTHENTICATED,
            _ => false,
        }
    }

    /// Returns whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Status { status, .. } => *status == 404,
            Self::Code { code, .. } => *code == Code::NOT_FOUND,
            _ => false,
        }
    }

    /// The wait that the service asks for before the next try.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// The beginning of an answer in one line, after a colon; empty for an empty answer.
pub(super) fn quoted(body: &[u8]) -> String {
    const MOST_CHARACTERS: usize = 300;
    let text = String::from_utf8_lossy(body);
    let text = text.split(|character: char| character.is_whitespace() || character.is_control());
    let text = text.filter(|word| !word.is_empty()).collect::<Vec<_>>();
    let text = text.join(" ");
    if text.is_empty() {
        return String::new();
    }
    match text.char_indices().nth(MOST_CHARACTERS) {
        None => format!(": {text}"),
        Some((end, _)) => format!(": {}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_quoted_in_one_short_line() {
        assert_eq!(quoted(b" \n"), "");
        assert_eq!(quoted(b"no\n\tsuch\x1b[1m build"), ": no such [1m build");
        let long = "é".repeat(400);
        assert_eq!(quoted(long.as_bytes()).chars().count(), 303);
    }

    #[test]
    fn codes_have_names() {
        assert_eq!(Code::UNAUTHENTICATED.to_string(), "UNAUTHENTICATED");
        assert_eq!(Code(99).to_string(), "code 99");
        let transient = (0..20).filter(|code| Code(*code).is_transient());
        assert_eq!(transient.collect::<Vec<_>>(), [2, 13, 14]);
    }
}
