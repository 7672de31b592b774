//! Jobs on Temporal.

#[cfg(feature = "temporal")]
pub(crate) use self::with::{run, serve};
#[cfg(not(feature = "temporal"))]
pub(crate) use self::without::{run, serve};

#[cfg(feature = "temporal")]
mod with {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use pinpoint_backends::store::JobStore;
    #[cfg(feature = "published")]
    use pinpoint_backends::temporal::PublishedNames;
    use pinpoint_backends::temporal::{
        NamespaceSetup, PayloadKey, Temporal, TemporalAddress, TemporalEvent, TemporalOptions,
        TemporalWorker, TimeLimits, serve as serve_temporal,
    };
    use pinpoint_backends::worker::WorkerOptions;
    use pinpoint_core::bots::Bots;
    use pinpoint_report::results::in_words as result_in_words;
    use serde_json::json;

    use crate::advice::with_advice;
    use crate::arguments::{Display, Output, TemporalArguments, TemporalCommand, TemporalServer};
    use crate::error::CliError;
    use crate::exit_code::FOUND;
    use crate::job::stop::Interrupt;
    use crate::job::storage::Storage;
    use crate::show::output::{errln, print, print_json};
    use crate::show::text::{BOLD, DIM, ERROR};

    pub(crate) async fn run(command: TemporalCommand, display: &Display) -> Result<u8, CliError> {
        let TemporalCommand::Setup { server, retention } = command;
        let storage = Storage::open(display).await?;
        let temporal = Temporal::connect(&address(&server), None).await?;
        let there = temporal.set_up(retention, &storage.store).await?;
        match display.output {
            Output::Json => print_json(json!({
                "namespace": there.namespace,
                "made": there.made,
                "retention": there.retention.as_secs(),
                "made_attributes": there.made_attributes,
                "existing_attributes": there.existing_attributes,
                "store": there.store,
            })),
            Output::Text => print(format_args!("{}", in_words(&there))),
        }
        Ok(FOUND)
    }

    fn in_words(there: &NamespaceSetup) -> String {
        let list = |names: &[&str]| match names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        format!(
            "namespace {}: {}; it keeps histories for {}\n\
             search attributes made: {}\n\
             existing search attributes: {}\n\
             store whose jobs it has: {}\n",
            there.namespace,
            if there.made { "made" } else { "already exists" },
            humantime::format_duration(there.retention),
            list(&there.made_attributes),
            list(&there.existing_attributes),
            match &there.store {
                Some(store) => store,
                None => "not recorded, since the server does not let namespaces be changed",
            },
        )
    }

    pub(crate) async fn serve(
        jobs: &JobStore,
        worker: &WorkerOptions,
        #[cfg_attr(
            not(feature = "published"),
            expect(
                unused_variables,
                reason = "only those who request the published workflows name bots"
            )
        )]
        bots: Bots,
        arguments: &TemporalArguments,
        lease: Option<Duration>,
        interrupt: Interrupt,
        quiet: bool,
    ) -> Result<u8, CliError> {
        if arguments.published_names && cfg!(not(feature = "published")) {
            return Err(CliError::Input(
                "this program was built without the workflows of Chromium's Pinpoint; install it \
                 with `cargo install --path pinpoint-cli --features temporal,published`"
                    .into(),
            ));
        }
        let address = TemporalAddress {
            key: arguments.temporal_key.as_deref().map(key).transpose()?,
            ..address(&arguments.server)
        };
        let metrics = arguments.metrics.as_deref();
        let temporal = Temporal::connect(&address, metrics).await?;
        let mut options = TemporalOptions::default();
        if let Some(lease) = lease {
            options.lease = lease;
        }
        options.limits = TimeLimits {
            build: arguments.build_limit,
            run: arguments.run_limit,
            queue: arguments.queue_limit,
            heartbeat: arguments.heartbeat_limit,
        };
        options
            .deployment
            .clone_from(&arguments.temporal_deployment);
        #[cfg(feature = "published")]
        if arguments.published_names {
            options.published = Some(PublishedNames {
                queue: arguments.published_queue.clone(),
                bots,
            });
        }
        let tell = |event: TemporalEvent<'_>| {
            if !quiet {
                say(&event);
            }
        };
        let worker = TemporalWorker {
            store: jobs,
            temporal: &temporal,
            worker,
            options: &options,
        };
        serve_temporal(worker, interrupt.interrupted(), tell).await?;
        Ok(FOUND)
    }

    fn address(server: &TemporalServer) -> TemporalAddress {
        TemporalAddress {
            address: server.temporal_address.clone(),
            namespace: server.temporal_namespace.clone(),
            profile: server.temporal_profile.clone(),
            key: None,
        }
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
                    "{} is not a valid key; expected 32 bytes, base64-encoded; \
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
            TemporalEvent::Concluded(job, result) => match result {
                Ok(result) => errln!("job {job}: {}", result_in_words(result)),
                Err(reason) => errln!("job {job}: {reason}"),
            },
            TemporalEvent::Away(address) => errln!(
                "{ERROR}error:{ERROR:#} Temporal at {address} does not answer; what is under way may \
                 end, and jobs continue when it does"
            ),
            TemporalEvent::Back(address) => errln!("Temporal at {address} answers again"),
            TemporalEvent::Trouble(error) => {
                errln!("{ERROR}error:{ERROR:#} {}", with_advice(*error));
            }
            _ => {}
        }
    }
}

#[cfg(not(feature = "temporal"))]
mod without {
    use std::time::Duration;

    use pinpoint_backends::store::JobStore;
    use pinpoint_backends::worker::WorkerOptions;
    use pinpoint_core::bots::Bots;

    use crate::arguments::{Display, TemporalArguments, TemporalCommand};
    use crate::error::CliError;
    use crate::job::stop::Interrupt;

    pub(crate) async fn run(_: TemporalCommand, _: &Display) -> Result<u8, CliError> {
        Err(not_built_in())
    }

    pub(crate) async fn serve(
        _: &JobStore,
        _: &WorkerOptions,
        _: Bots,
        _: &TemporalArguments,
        _: Option<Duration>,
        _: Interrupt,
        _: bool,
    ) -> Result<u8, CliError> {
        Err(not_built_in())
    }

    fn not_built_in() -> CliError {
        CliError::Input(
            "this program was built without Temporal; install it with \
             `cargo install --path pinpoint-cli --features temporal`"
                .into(),
        )
    }
}
