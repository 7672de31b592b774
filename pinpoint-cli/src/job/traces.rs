//! Traces of jobs, for OpenTelemetry: sent by OTLP to the address in the standard variables.

#[cfg(feature = "otlp")]
pub(crate) use self::with::export;
#[cfg(not(feature = "otlp"))]
pub(crate) use self::without::export;

/// Without traces, only the warnings of services are shown.
#[cfg(feature = "luci")]
use crate::show::notices::show as without_traces;
#[cfg(not(feature = "luci"))]
fn without_traces(_: &crate::arguments::Display) {}

#[cfg(feature = "otlp")]
mod with {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;
    use std::env;
    use std::fmt::Debug;
    use std::time::{Duration, SystemTime};

    use opentelemetry::trace::{
        SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, Tracer,
        TracerProvider,
    };
    use opentelemetry::{Context, ContextGuard, KeyValue};
    use opentelemetry_otlp::{SpanExporter, WithExportConfig};
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator, SdkTracer, SdkTracerProvider};
    use pinpoint_backends::job::TraceParent;
    use tracing::field::{Field, Visit};
    use tracing::level_filters::LevelFilter;
    use tracing::span::{Attributes, Id};
    use tracing::{Event, Subscriber};
    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::layer::{self, Layer, SubscriberExt};
    use tracing_subscriber::registry::LookupSpan;

    use crate::arguments::{Arguments, Command};
    use crate::job::storage::host;
    use crate::show::output::errln;
    use crate::show::text::FOUND as WARNING;

    /// Sends what is left when it is dropped.
    pub(crate) struct Export(SdkTracerProvider);

    impl Drop for Export {
        fn drop(&mut self) {
            // A collector that is away must not cause a failure.
            let _ = self.0.shutdown();
        }
    }

    /// Sends the spans of this process, if the environment names an address.
    pub(crate) fn export(arguments: &Arguments) -> Option<Export> {
        let Some(endpoint) = endpoint() else {
            super::without_traces(&arguments.display);
            return None;
        };
        let machine = match &arguments.command {
            Command::Worker(worker) => worker.machine.clone(),
            _ => None,
        };
        match provider(&endpoint, machine.unwrap_or_else(host)) {
            Ok(provider) => {
                let tracer = provider.tracer("pinpoint");
                let registry = tracing_subscriber::registry().with(layers(tracer));
                #[cfg(feature = "luci")]
                let registry = registry.with(crate::show::notices::notices(&arguments.display));
                // This is the program, so there is no other.
                let _ = tracing::subscriber::set_global_default(registry);
                Some(Export(provider))
            }
            Err(error) => {
                super::without_traces(&arguments.display);
                errln!("{WARNING}warning:{WARNING:#} traces can't be sent: {error}");
                None
            }
        }
    }

    /// Reads a variable. An empty one counts as unset.
    fn set(name: &str) -> Option<String> {
        env::var(name).ok().filter(|value| !value.is_empty())
    }

    /// The address to which spans are sent.
    fn endpoint() -> Option<String> {
        let is_off = set("OTEL_SDK_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true"))
            || set("OTEL_TRACES_EXPORTER").is_some_and(|it| it == "none");
        let of_all = || {
            let base = set("OTEL_EXPORTER_OTLP_ENDPOINT")?;
            Some(format!("{}/v1/traces", base.trim_end_matches('/')))
        };
        let endpoint = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(of_all);
        endpoint.filter(|_| !is_off)
    }

    fn provider(endpoint: &str, machine: String) -> Result<SdkTracerProvider, String> {
        if endpoint.starts_with("https:") {
            return Err(format!(
                "TLS is not built in, and the collector is {endpoint}; name one by http"
            ));
        }
        let protocol = set("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL");
        let protocol = protocol.or_else(|| set("OTEL_EXPORTER_OTLP_PROTOCOL"));
        if let Some(other) = protocol.filter(|it| !it.starts_with("http/")) {
            return Err(format!(
                "the protocol {other:?} is not built in; there are http/protobuf and http/json"
            ));
        }
        let exporter = SpanExporter::builder().with_http().with_endpoint(endpoint);
        let named = Resource::builder().build().get(&"service.name".into());
        let named = named.map(|name| name.as_str().into_owned());
        let name = named.filter(|name| !name.starts_with("unknown_service"));
        let resource = Resource::builder()
            .with_service_name(name.unwrap_or_else(|| "pinpoint".into()))
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attribute(KeyValue::new("host.name", machine))
            .build();
        // In a build with a program whose HTTP client has TLS, this client has it, too, and needs a
        // provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let exporter = exporter.build().map_err(|error| error.to_string())?;
        Ok(SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_id_generator(Ids::default())
            .with_resource(resource)
            .build())
    }

    fn layers<S>(tracer: SdkTracer) -> impl Layer<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let spans = tracing_opentelemetry::layer()
            .with_tracer(tracer.clone())
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false);
        // The store's operations are many, and nothing runs in their spans.
        let shown = Targets::new()
            .with_target("pinpoint_core", LevelFilter::DEBUG)
            .with_target("pinpoint_backends", LevelFilter::INFO)
            .with_target("pinpoint_luci", LevelFilter::INFO)
            .with_target("pinpoint_store", LevelFilter::INFO)
            .with_target("pinpoint_local", LevelFilter::DEBUG);
        Begin
            .and_then(spans)
            .and_then(ClearParentLayer)
            .and_then(WholeJobs(tracer))
            .with_filter(shown)
    }

    thread_local! {
        /// The trace that a new span continues.
        static TRACE: RefCell<Option<ContextGuard>> = const { RefCell::new(None) };
        /// The ids of a span that are known before it is made.
        static IDS: Cell<Option<(TraceId, SpanId)>> = const { Cell::new(None) };
    }

    /// Runs before a span is made: one with the field `traceparent` continues that trace.
    struct Begin;

    impl<S: Subscriber> Layer<S> for Begin {
        fn on_new_span(&self, span: &Attributes<'_>, _: &Id, _: layer::Context<'_, S>) {
            let mut fields = Fields::default();
            span.record(&mut fields);
            if let Some(parent) = fields.parent("traceparent") {
                TRACE.set(Some(within(&parent).attach()));
            }
        }
    }

    /// Clears the parent after a span was made.
    struct ClearParentLayer;

    impl<S: Subscriber> Layer<S> for ClearParentLayer {
        fn on_new_span(&self, _: &Attributes<'_>, _: &Id, _: layer::Context<'_, S>) {
            TRACE.set(None);
        }
    }

    /// Makes a span of each job that ends.
    struct WholeJobs(SdkTracer);

    impl<S: Subscriber> Layer<S> for WholeJobs {
        fn on_event(&self, event: &Event<'_>, _: layer::Context<'_, S>) {
            if event.metadata().name() != "job ended" {
                return;
            }
            let mut fields = Fields::default();
            event.record(&mut fields);
            let Some(own) = fields.parent("traceparent").map(|own| context_of(&own)) else {
                return;
            };
            let asked_in = fields.parent("asked_in");
            let within = asked_in.map_or_else(Context::new, |asked_in| within(&asked_in));
            let mut text = |name| fields.0.remove(name).unwrap_or_default();
            let created = text("created").parse().unwrap_or_default();
            let attributes = ["job", "bot", "benchmark", "user", "state"];
            let attributes = attributes.map(|name| KeyValue::new(name, text(name)));
            let job = (self.0.span_builder(text("kind")))
                .with_start_time(SystemTime::UNIX_EPOCH + Duration::from_millis(created))
                .with_attributes(attributes);
            IDS.set(Some((own.trace_id(), own.span_id())));
            // It ends at once.
            drop(job.start_with_context(&self.0, &within));
            IDS.set(None);
        }
    }

    /// Random ids, unless they are known.
    #[derive(Debug, Default)]
    struct Ids(RandomIdGenerator);

    impl IdGenerator for Ids {
        fn new_trace_id(&self) -> TraceId {
            IDS.get()
                .map_or_else(|| self.0.new_trace_id(), |(trace, _)| trace)
        }

        fn new_span_id(&self) -> SpanId {
            IDS.get()
                .map_or_else(|| self.0.new_span_id(), |(_, span)| span)
        }
    }

    fn within(parent: &TraceParent) -> Context {
        Context::new().with_remote_span_context(context_of(parent))
    }

    fn context_of(parent: &TraceParent) -> SpanContext {
        SpanContext::new(
            TraceId::from_hex(&parent.trace_id()).unwrap_or(TraceId::INVALID),
            SpanId::from_hex(&parent.span_id()).unwrap_or(SpanId::INVALID),
            TraceFlags::default().with_sampled(parent.is_sampled()),
            true,
            TraceState::NONE,
        )
    }

    /// The fields of a span or an event, as text.
    #[derive(Default)]
    struct Fields(BTreeMap<&'static str, String>);

    impl Fields {
        fn parent(&self, name: &str) -> Option<TraceParent> {
            self.0.get(name)?.parse().ok()
        }
    }

    impl Visit for Fields {
        fn record_str(&mut self, field: &Field, value: &str) {
            self.0.insert(field.name(), value.to_owned());
        }

        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            self.0.insert(field.name(), format!("{value:?}"));
        }
    }
}

#[cfg(not(feature = "otlp"))]
mod without {
    use crate::arguments::Arguments;

    pub(crate) fn export(arguments: &Arguments) -> Option<()> {
        super::without_traces(&arguments.display);
        None
    }
}
