//! Proves that the journal of a signed job names no foreign commits.
//!
//! The signed spec and configuration determine the builds, together with the names of commits in
//! the journal, which is not signed. Each of these has to be the repository's commit at that place,
//! counted from the ends of the spec. With this, an altered journal can make the answer wrong, and
//! nothing else.

use async_trait::async_trait;
use pinpoint_core::job::ResultSource;
use pinpoint_core::{
    CombinedCommit, DriveEvent, Engine, Executor, ExecutorError, Heartbeat, JobMachine, Located,
    Machine, Position, Report, Request, Ticket,
};
use tokio::sync::Mutex;

/// The journal names a commit outside of the job's ranges.
#[derive(Debug, thiserror::Error)]
#[error(
    "the journal names the commit {}, which this signed job does not lead to: it was altered",
    .0.main.revision()
)]
struct ForeignCommit(CombinedCommit);

/// An executor that begins once the names in the journal are proved.
pub(super) struct Proving<'a> {
    executor: &'a dyn Executor,
    source: &'a dyn ResultSource,
    /// Absent until the journal is replayed.
    claims: Mutex<Option<Claims>>,
}

/// The commits that the journal names.
#[derive(Debug, Default)]
struct Claims {
    /// With their places in listings, which the repository has to confirm.
    placed: Vec<(Located, CombinedCommit)>,
    /// A commit that is wrong at any place.
    foreign: Option<CombinedCommit>,
}

impl<'a> Proving<'a> {
    pub(super) fn new(executor: &'a dyn Executor, source: &'a dyn ResultSource) -> Self {
        Self {
            executor,
            source,
            claims: Mutex::default(),
        }
    }

    /// Notes the journal's claims, once it was replayed: it is not read again.
    pub(super) fn watch(&self, event: &DriveEvent<'_>, engine: &Engine<JobMachine>) {
        if matches!(event, DriveEvent::Replayed(_))
            && let Ok(mut claims) = self.claims.try_lock()
        {
            *claims = Some(Claims::from_engine(engine));
        }
    }

    async fn prove(&self) -> Result<(), ExecutorError> {
        // Requests in the meantime wait for the proof.
        let mut claims = self.claims.lock().await;
        let claims =
            (claims.as_mut()).ok_or(ExecutorError::Refused("no journal was read".into()))?;
        if let Some(foreign) = &claims.foreign {
            return Err(refused(foreign));
        }
        if claims.placed.is_empty() {
            return Ok(());
        }
        let (places, names): (Vec<_>, Vec<_>) = claims.placed.iter().cloned().unzip();
        let there = self.source.resolve(&places).await;
        let there = there.map_err(|error| ExecutorError::Refused(Box::new(error)))?;
        let mut pairs = there.iter().zip(names);
        claims.foreign = pairs
            .find(|(there, name)| there.identity() != name.identity())
            .map(|(_, foreign)| foreign);
        claims.placed.clear();
        claims
            .foreign
            .as_ref()
            .map_or(Ok(()), |it| Err(refused(it)))
    }
}

impl Claims {
    fn from_engine(engine: &Engine<JobMachine>) -> Self {
        let names = engine.names();
        let mut claims = Self::default();
        for (position, name) in names.commits() {
            let end = match (position, engine.machine().ends()) {
                (Position::Lower, Some((lower, _))) => Some(lower),
                (Position::Higher, Some((_, higher))) => Some(higher),
                _ => None,
            };
            let listed = match position {
                Position::Within { range, offset } => {
                    let listing = names.range(range).cloned().map(Box::new);
                    listing.map(|listing| Located::Offset { listing, offset })
                }
                _ => None,
            };
            match listed {
                Some(listed) => claims.placed.push((listed, name.clone())),
                None if end.is_some_and(|end| end.identity() == name.identity()) => {}
                None => claims.foreign = Some(name.clone()),
            }
        }
        for (lower, higher, listing) in names.listings() {
            for (position, name) in [(lower, &listing.lower), (higher, &listing.higher)] {
                let known = names.commit(position);
                if known.is_none_or(|known| known.identity() != name.identity()) {
                    claims.foreign = Some(name.clone());
                }
            }
        }
        claims
    }
}

fn refused(foreign: &CombinedCommit) -> ExecutorError {
    ExecutorError::Refused(Box::new(ForeignCommit(foreign.clone())))
}

#[async_trait]
impl Executor for Proving<'_> {
    async fn start(&self, request: &Request) -> Result<Ticket, ExecutorError> {
        self.prove().await?;
        self.executor.start(request).await
    }

    async fn wait(
        &self,
        request: &Request,
        ticket: &Ticket,
        heartbeat: &Heartbeat,
    ) -> Result<Report, ExecutorError> {
        // Work that was started before may be repeated.
        self.prove().await?;
        self.executor.wait(request, ticket, heartbeat).await
    }

    async fn cancel(&self, ticket: &Ticket) -> Result<(), ExecutorError> {
        self.executor.cancel(ticket).await
    }
}
