//! The views of a store, one for each kind of thing in it: [`JobStore::jobs`] has what can be done
//! with jobs, [`JobStore::sessions`] what can be done with sessions. A view borrows the store, and
//! costs nothing.

use super::database::Database;
use super::job_store::JobStore;

/// Declares each view, and the method of the store that returns it, with the same documentation.
macro_rules! views {
    ($($(#[$documentation:meta])+ $name:ident() -> struct $View:ident;)+) => {
        $(
            $(#[$documentation])+
            #[derive(Debug, Clone, Copy)]
            pub struct $View<'a> {
                pub(super) database: &'a Database,
            }
        )+

        impl JobStore {
            $(
                $(#[$documentation])+
                #[must_use]
                pub fn $name(&self) -> $View<'_> {
                    $View {
                        database: &self.database,
                    }
                }
            )+
        }
    };
}

views! {
    /// Jobs: created, found, listed, changed and removed.
    jobs() -> struct Jobs;

    /// Requests to end jobs.
    cancellations() -> struct Cancellations;

    /// Journals of jobs.
    journals() -> struct Journals;

    /// Files of jobs.
    files() -> struct Files;

    /// Signatures of jobs.
    signatures() -> struct Signatures;

    /// Exports and imports of jobs.
    exchange() -> struct Exchange;

    /// Jobs that wait for a worker.
    queue() -> struct Queue;

    /// Leases: jobs taken by their workers, and what only the holder of a lease may change.
    leases() -> struct Leases;

    /// Workers of the store.
    workers() -> struct Workers;

    /// The audit log.
    audit() -> struct AuditLog;

    /// Sessions of signed-in people, and sign-ins under way.
    sessions() -> struct Sessions;

    /// API tokens.
    tokens() -> struct Tokens;

    /// Counts of the requests of users, for their quotas.
    quotas() -> struct Quotas;

    /// Preferences of users.
    preferences() -> struct Preferences;
}
