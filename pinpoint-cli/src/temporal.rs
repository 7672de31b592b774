//! Jobs on Temporal.

#[cfg(feature = "temporal")]
pub(crate) use self::with::serve;
#[cfg(not(feature = "temporal"))]
pub(crate) use self::without::serve;

#[cfg(feature = "temporal")]
mod with {
    use std::fs;
    use std::path::Path;

    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use pinpoint_backends::store::JobStore;
    use pinpoint_backends::temporal::{
        Address, PayloadKey, PublishedNames, Temporal, TemporalEvent, TemporalOptions, TimeLimits,
        serve as serve_temporal,
    };
    use pinpoint_backends::worker::WorkerOptions;
    use pinpoint_core::bots::Bots;

    use crate::arguments::{TemporalArguments, TemporalServer};
    use crate::error::{CliError, FOUND, with_advice};
    use crate::output::errln;
    use crate::stop::Interrupt;
    use crate::text::{BOLD, DIM, ERROR};

    pub(crate) async fn serve(
        jobs: &JobStore,
        worker: &WorkerOptions,
        bots: Bots,
        arguments: &TemporalArguments,
        interrupt: Interrupt,
        quiet: bool,
    ) -> Result<u8, CliError> {
        let temporal = Temporal::connect(&address(&arguments.server)?).await?;
        let options = TemporalOptions {
            limits: TimeLimits {
                build: arguments.build_limit,
                run: arguments.run_limit,
                queue: arguments.queue_limit,
            },
            published: (arguments.published_names).then(|| PublishedNames {
                queue: arguments.published_queue.clone(),
                bots,
            }),
        };
        let tell = |event: TemporalEvent<'_>| {
            if !quiet {
                say(&event);
            }
        };
        serve_temporal(
            jobs,
            &temporal,
            worker,
            &options,
            interrupt.interrupted(),
            tell,
        )
        .await?;
        Ok(FOUND)
    }

    fn address(server: &TemporalServer) -> Result<Address, CliError> {
        Ok(Address {
            address: server.temporal_address.clone(),
            namespace: server.temporal_namespace.clone(),
            profile: server.temporal_profile.clone(),
            key: server.temporal_key.as_deref().map(key).transpose()?,
        })
    }

    fn key(path: &Path) -> Result<PayloadKey, CliError> {
        let text = fs::read_to_string(path).map_err(|source| CliError::File {
            action: "read",
            path: path.to_owned(),
            source,
        })?;
        let bytes = BASE64_STANDARD.decode(text.trim()).ok();
        bytes
            .and_then(|bytes| PayloadKey::new(&bytes))
            .ok_or_else(|| {
                CliError::Input(format!(
                    "{} is no key: it has to have 32 bytes in Base64; \
                 `openssl rand -base64 32` makes one",
                    path.display()
                ))
            })
    }

    fn say(event: &TemporalEvent<'_>) {
        match event {
            TemporalEvent::Began(worker) => errln!(
                "{BOLD}{}{BOLD:#} carries out jobs of {} on Temporal",
                worker.name,
                worker.bots.join(", ")
            ),
            TemporalEvent::Started(job) => errln!(
                "job {}: workflow started  {DIM}{}{DIM:#}",
                job.id,
                job.title.replace(['\n', '\r'], " ")
            ),
            TemporalEvent::Ended(job, state) => {
                errln!("job {job}: its workflow was ended; the job is {state}");
            }
            TemporalEvent::Trouble(error) => {
                errln!("{ERROR}error:{ERROR:#} {}", with_advice(*error));
            }
            _ => {}
        }
    }
}

#[cfg(not(feature = "temporal"))]
mod without {
    use pinpoint_backends::store::JobStore;
    use pinpoint_backends::worker::WorkerOptions;
    use pinpoint_core::bots::Bots;

    use crate::arguments::TemporalArguments;
    use crate::error::CliError;
    use crate::stop::Interrupt;

    pub(crate) async fn serve(
        _: &JobStore,
        _: &WorkerOptions,
        _: Bots,
        _: &TemporalArguments,
        _: Interrupt,
        _: bool,
    ) -> Result<u8, CliError> {
        Err(CliError::Input(
            "this program was built without Temporal; install it with \
             `cargo install pinpoint-cli --features temporal`"
                .into(),
        ))
    }
}
