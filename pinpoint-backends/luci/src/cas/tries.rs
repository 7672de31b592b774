//! The rules for retries.

use std::time::Duration;

use tokio::time::sleep;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::CasError;
use super::error::TransferError;
use crate::google::{Backoff, random_seed};

/// The end of a try that failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// It may pass: tried again, not before the time that the server names.
    Passing(TransferError, Option<Duration>),
    /// The token was refused. It is tried again with a new one, once.
    Unauthenticated(TransferError),
    /// Trying again does not help.
    Lasting(TransferError),
    /// The fault of neither a method nor a server.
    Final(CasError),
}

impl From<TransferError> for Fault {
    fn from(trouble: TransferError) -> Self {
        Self::Passing(trouble, None)
    }
}

impl Fault {
    pub(super) fn from_status(status: &Status) -> Self {
        let trouble = TransferError::status(status);
        match status.code() {
            Code::Unauthenticated => Self::Unauthenticated(trouble),
            code if is_transient(code) => {
                let asked = status.get_details_retry_info();
                Self::Passing(trouble, asked.and_then(|info| info.retry_delay))
            }
            _ => Self::Lasting(trouble),
        }
    }
}

/// Returns whether a request with this code may succeed later. A connection that breaks is
/// `UNAVAILABLE`, `UNKNOWN`, `INTERNAL` or `CANCELLED`, by where it does.
pub(super) fn is_transient(code: Code) -> bool {
    matches!(
        code,
        Code::Cancelled
            | Code::Unknown
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::Internal
            | Code::Unavailable
    )
}

/// The longest wait that a server may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// The tries of one request.
pub(super) struct Tries<'a> {
    method: &'static str,
    backoff: &'a Backoff,
    seed: u64,
    /// Since the last data.
    failed: u32,
    may_change_token: bool,
}

impl<'a> Tries<'a> {
    pub(super) fn new(method: &'static str, backoff: &'a Backoff) -> Self {
        Self {
            method,
            backoff,
            seed: random_seed(),
            failed: 0,
            may_change_token: true,
        }
    }

    /// Notes that part of the answer was received and need not come again.
    pub(super) fn progressed(&mut self) {
        self.failed = 0;
        self.may_change_token = true;
    }

    /// Waits until the next try.
    pub(super) async fn after(&mut self, fault: Fault) -> Result<(), CasError> {
        let method = self.method;
        let (trouble, asked) = match fault {
            Fault::Passing(trouble, asked) => (trouble, asked),
            Fault::Unauthenticated(_) if self.may_change_token => {
                self.may_change_token = false;
                return Ok(());
            }
            Fault::Unauthenticated(trouble) | Fault::Lasting(trouble) => {
                return Err(CasError::Refused { method, trouble });
            }
            Fault::Final(error) => return Err(error),
        };
        let wait = self.backoff.wait(self.failed, self.seed);
        self.failed += 1;
        let Some(wait) = wait else {
            let tries = self.failed;
            return Err(CasError::GaveUp {
                method,
                tries,
                trouble,
            });
        };
        let wait = wait.max(asked.unwrap_or_default().min(LONGEST_ASKED));
        tracing::debug!(method, %trouble, wait = wait.as_secs_f64(), "tried again");
        sleep(wait).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;
    use tonic_types::ErrorDetails;

    use super::*;

    const BACKOFF: Backoff = Backoff {
        retries: 2,
        first: Duration::from_secs(2),
        longest: Duration::from_secs(9),
    };

    async fn wait(tries: &mut Tries<'_>, fault: Fault) -> f64 {
        let began = Instant::now();
        tries.after(fault).await.unwrap();
        began.elapsed().as_secs_f64()
    }

    fn unavailable() -> Fault {
        Fault::from_status(&Status::unavailable("later"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_names_a_time_is_left_alone_until_then() {
        let mut tries = Tries::new("Read", &BACKOFF);
        assert!((1.0..=2.0).contains(&wait(&mut tries, unavailable()).await));
        let asked = ErrorDetails::with_retry_info(Some(Duration::from_secs(20)));
        let status = Status::with_error_details(Code::ResourceExhausted, "quota", asked);
        let waited = wait(&mut tries, Fault::from_status(&status)).await;
        assert!((20.0..21.0).contains(&waited), "{waited}");
        // Not forever.
        tries.progressed();
        let asked = ErrorDetails::with_retry_info(Some(Duration::from_secs(86_400)));
        let status = Status::with_error_details(Code::Unavailable, "tomorrow", asked);
        let waited = wait(&mut tries, Fault::from_status(&status)).await;
        assert!((60.0..61.0).contains(&waited), "{waited}");
    }

    #[tokio::test(start_paused = true)]
    async fn tries_end_unless_something_came() {
        let mut tries = Tries::new("Read", &BACKOFF);
        for _ in 0..10 {
            wait(&mut tries, unavailable()).await;
            wait(&mut tries, unavailable()).await;
            tries.progressed();
        }
        wait(&mut tries, unavailable()).await;
        wait(&mut tries, unavailable()).await;
        let error = tries.after(unavailable()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "Read failed 3 times; last error: UNAVAILABLE: later"
        );
    }

    #[test]
    fn codes_that_may_pass() {
        let passing: Vec<i32> = (0..17)
            .filter(|&code| is_transient(Code::from(code)))
            .collect();
        assert_eq!(passing, [1, 2, 4, 8, 10, 13, 14]);
    }
}
