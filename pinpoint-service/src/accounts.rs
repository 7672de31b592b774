//! `pinpoint-service tokens` and `pinpoint-service audit`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Subcommand;
use pinpoint_backends::store::{
    AuditCheck, AuditEntry, AuditFault, AuditFilter, JobId, JobStore, NewToken, Token,
};
use pinpoint_core::api::Timestamp;
use pinpoint_service::{ROLES, Right, rights_of, user_name};

use crate::{Failure, print, say};

#[derive(Debug, Subcommand)]
pub(crate) enum Tokens {
    /// Make a token and print its secret, which is shown this once
    Create {
        /// The name of the token, which no other has or had
        #[arg(value_parser = text)]
        name: String,
        /// The user for whom it acts, an e-mail address mostly
        #[arg(long, value_parser = user)]
        user: String,
        /// A role (viewer, editor, admin) or a right; may be given several times
        #[arg(long, required = true, value_name = "NAME", value_parser = may)]
        may: Vec<String>,
        /// The time after which it ends, as 90d; it does not end by itself without
        #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
        expires: Option<Duration>,
    },
    /// List all tokens, without their secrets
    List,
    /// End a token at once
    Revoke {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Print the rows of the log as JSON, one a line, the oldest first
    List {
        /// Only rows about requests of this user
        #[arg(long, value_parser = user)]
        user: Option<String>,
        /// Only rows about this job
        #[arg(long, value_parser = JobId::parse)]
        job: Option<JobId>,
    },
    /// Check that each row fits the one before
    Verify,
}

/// The most rows that are read at once.
const PAGE: u32 = 1000;

/// Parses a visible name.
fn text(name: &str) -> Result<String, String> {
    user(name).map(|_| name.trim().to_owned())
}

/// The name of a user.
fn user(name: &str) -> Result<String, String> {
    user_name(name).ok_or_else(|| "it needs characters that show".into())
}

fn may(name: &str) -> Result<String, String> {
    if rights_of(name).is_some() {
        return Ok(name.to_owned());
    }
    let roles = ROLES.iter().map(|(role, _)| *role);
    let known: Vec<_> = roles
        .chain(Right::ALL.iter().map(|right| right.as_str()))
        .collect();
    Err(format!("expected one of {}", known.join(", ")))
}

pub(crate) async fn tokens(store: &JobStore, command: Tokens) -> Result<(), Failure> {
    match command {
        Tokens::Create {
            name,
            user,
            may,
            expires,
        } => {
            let expires = match expires.map(|after| SystemTime::now().checked_add(after)) {
                Some(None) => return Err("that is too long for a token".into()),
                Some(Some(end)) => Some(milliseconds(end)),
                None => None,
            };
            let entry = entry("tokens create", &name);
            let token = NewToken {
                name,
                user,
                rights: may,
                expires,
            };
            let secret = store.tokens().create(&token, Some(&entry)).await?;
            say("keep this secret; it is not shown again:");
            print(secret.as_str())
        }
        Tokens::List => {
            for token in store.tokens().list().await? {
                print(&line(&token))?;
            }
            Ok(())
        }
        Tokens::Revoke { name } => {
            store
                .tokens()
                .revoke(&name, Some(&entry("tokens revoke", &name)))
                .await?;
            say(&format!("{name} is revoked"));
            Ok(())
        }
    }
}

fn line(token: &Token) -> String {
    let state = match (token.revoked, token.expires) {
        (Some(time), _) => format!("revoked {}", date(time)),
        (None, Some(time)) if time <= milliseconds(SystemTime::now()) => {
            format!("expired {}", date(time))
        }
        (None, Some(time)) => format!("expires {}", date(time)),
        (None, None) => "does not expire".into(),
    };
    let used = token.used.map_or_else(
        || "never used".into(),
        |time| format!("used {}", date(time)),
    );
    format!(
        "{}  {}  {}  {state}  {used}",
        token.name,
        token.user,
        token.rights.join(",")
    )
}

pub(crate) async fn audit(store: &JobStore, command: Audit) -> Result<(), Failure> {
    match command {
        Audit::List { user, job } => {
            let filter = AuditFilter {
                user,
                job,
                ..AuditFilter::default()
            };
            let mut after = 0;
            loop {
                let rows = store.audit().list(&filter, after, PAGE).await?;
                let Some(last) = rows.last() else {
                    return Ok(());
                };
                after = last.number;
                for row in &rows {
                    print(&serde_json::to_string(row)?)?;
                }
            }
        }
        Audit::Verify => match store.audit().verify().await? {
            AuditCheck::Whole { rows, hash } => print(&format!(
                "{rows} rows, all of which fit; the hash of the last one is {hash}"
            )),
            AuditCheck::Broken { number, fault } => {
                let fault = match fault {
                    AuditFault::Altered => "was altered",
                    AuditFault::Missing => "is missing",
                    AuditFault::Inserted => "was inserted",
                };
                Err(format!("row {number} of the audit log {fault}").into())
            }
        },
    }
}

/// The row about a command on this machine.
fn entry(operation: &str, token: &str) -> AuditEntry {
    let details = [("token".to_owned(), token.into())];
    AuditEntry {
        user: whoami::username().unwrap_or_else(|_| "nobody".into()),
        address: String::new(),
        operation: operation.to_owned(),
        job: None,
        result: "ok".into(),
        request: String::new(),
        details: details.into_iter().collect(),
    }
}

fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn date(milliseconds: i64) -> String {
    let seconds = milliseconds.div_euclid(1000);
    Timestamp { seconds, nanos: 0 }.to_string()
}
