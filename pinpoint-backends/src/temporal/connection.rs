//! The connection to a server: its address, its credentials and its namespace.

use std::time::Duration;

use temporalio_client::envconfig::{
    ClientConfigProfile, ConfigError, DataSource, LoadClientConfigProfileOptions,
};
use temporalio_client::errors::ClientConnectError;
use temporalio_client::tonic::Code;
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};
use temporalio_common::data_converters::{
    DataConverter, DefaultFailureConverter, PayloadConverter,
};
use temporalio_common::envconfig::load_client_config_profile;

use super::codec::{Codec, PayloadKey, Unread};
use super::error::TemporalError;
use super::metrics::Metrics;
use crate::job::ON_TEMPORAL;

/// The time limit for a connection, and for each answer.
const CONNECT: Duration = Duration::from_secs(10);

/// The address of Temporal, and its credentials.
///
/// Absent values come from the environment (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`,
/// `TEMPORAL_API_KEY`, `TEMPORAL_TLS_…`) or from the profile in Temporal's configuration file, as
/// in all tools of Temporal.
#[derive(Debug, Clone, Default)]
pub struct TemporalAddress {
    /// `HOST:PORT`; `localhost:7233` by default.
    pub address: Option<String>,
    /// The namespace; `default` by default.
    pub namespace: Option<String>,
    /// The profile of the configuration file.
    pub profile: Option<String>,
    /// The key for payloads, the same for all workers; they are not encrypted when absent.
    pub key: Option<PayloadKey>,
}

/// A namespace of a Temporal server.
#[derive(Clone)]
pub struct Temporal {
    pub(super) client: Client,
    /// Reads and writes unencoded payloads: other programs start the published workflows, and read
    /// their answers.
    #[cfg(feature = "published")]
    pub(super) plain: Client,
    pub(super) address: String,
    pub(super) namespace: String,
    pub(super) metrics: Metrics,
    pub(super) unread: Unread,
}

impl Temporal {
    /// Connects. With the address `metrics`, counters and times are served at it, for Prometheus.
    ///
    /// # Errors
    ///
    /// When the configuration can't be read, or no server answers.
    pub async fn connect(
        address: &TemporalAddress,
        metrics: Option<&str>,
    ) -> Result<Self, TemporalError> {
        let profile = LoadClientConfigProfileOptions::builder()
            .maybe_config_file_profile(address.profile.clone())
            .build();
        let profile = load_client_config_profile(profile, None)?;
        let namespace = (address.namespace.clone())
            .or_else(|| profile.namespace.clone())
            .unwrap_or_else(|| "default".to_owned());
        let connection = connection_of(profile, address.address.as_deref())?;
        let unread = Unread::default();
        let codec = Codec {
            key: address.key.clone(),
            unread: unread.clone(),
        };
        let options = ClientOptions::new(namespace).data_converter(DataConverter::new(
            PayloadConverter::default(),
            DefaultFailureConverter::default(),
            codec,
        ));
        let metrics = match metrics {
            Some(address) => Metrics::serve(address).await?,
            None => Metrics::none(),
        };
        Self::with(connection, options.build(), metrics, unread).await
    }

    async fn with(
        mut connection: ConnectionOptions,
        options: ClientOptions,
        metrics: Metrics,
        unread: Unread,
    ) -> Result<Self, TemporalError> {
        let host = connection.target.host_str().unwrap_or_default().to_owned();
        let address = match connection.target.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        let namespace = options.namespace.clone();
        let tls = connection.tls_options.is_some();
        connection.connect_timeout = Some(CONNECT);
        connection.metrics_meter = metrics.of_connections();
        // A server may accept the connection, but never answer.
        let connected = tokio::time::timeout(CONNECT * 2, Connection::connect(connection)).await;
        let connection = match connected {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return Err(not_connected(address, tls, &error)),
            Err(_) => {
                let reason = format!("no answer within {} s", (CONNECT * 2).as_secs());
                return Err(TemporalError::Connect {
                    address,
                    tls,
                    reason,
                });
            }
        };
        #[cfg(feature = "published")]
        let plain = {
            let mut plain = options.clone();
            plain.data_converter = DataConverter::default();
            plain
        };
        let client = |options| {
            let client = Client::new(connection.clone(), options);
            client.map_err(|error| TemporalError::Client(error.into()))
        };
        Ok(Self {
            client: client(options)?,
            #[cfg(feature = "published")]
            plain: client(plain)?,
            address,
            namespace,
            metrics,
            unread,
        })
    }

    /// The owner of the leases of jobs on Temporal.
    pub fn owner(&self) -> String {
        format!("{ON_TEMPORAL}{} at {}", self.namespace, self.address)
    }
}

/// The options of a connection. TLS and keys go with the address, no matter where each comes from.
fn connection_of(
    mut profile: ClientConfigProfile,
    address: Option<&str>,
) -> Result<ConnectionOptions, ConfigError> {
    let address = address.map(str::to_owned).or(profile.address);
    profile.address = address.or_else(|| Some("localhost:7233".to_owned()));
    readable(&profile)?;
    let connection = ConnectionOptions::try_from(profile)?;
    if connection.tls_options.is_some() && connection.target.scheme() == "http" {
        return Err(ConfigError::InvalidConfig(format!(
            "TLS is wanted, and the address {} is without TLS",
            connection.target
        )));
    }
    Ok(connection)
}

/// Names the file of an unreadable certificate or key: the library does not.
fn readable(profile: &ClientConfigProfile) -> Result<(), ConfigError> {
    let Some(tls) = &profile.tls else {
        return Ok(());
    };
    for (what, source) in [
        ("CA certificate of the server", &tls.server_ca_cert),
        ("client certificate", &tls.client_cert),
        ("client key", &tls.client_key),
    ] {
        if let Some(DataSource::Path(path)) = source
            && let Err(error) = std::fs::File::open(path)
        {
            return Err(ConfigError::InvalidConfig(format!(
                "the {what}, {path}, can't be read: {error}"
            )));
        }
    }
    Ok(())
}

fn not_connected(address: String, tls: bool, error: &ClientConnectError) -> TemporalError {
    match error {
        ClientConnectError::SystemInfoCallError(status) => match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => TemporalError::Refused {
                address,
                reason: status.message().to_owned(),
            },
            _ => TemporalError::Connect {
                address,
                tls,
                reason: with_sources(status.message(), std::error::Error::source(status)),
            },
        },
        ClientConnectError::TonicTransportError(error) => TemporalError::Connect {
            address,
            tls,
            reason: with_sources(&error.to_string(), std::error::Error::source(error)),
        },
        error => TemporalError::Connect {
            address,
            tls,
            reason: error.to_string(),
        },
    }
}

/// A text with those of an error's sources that it does not contain.
fn with_sources(text: &str, mut source: Option<&(dyn std::error::Error + 'static)>) -> String {
    let mut text = text.to_owned();
    while let Some(error) = source {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_reached_with_tls_wherever_it_comes_from() {
        let with_key = || {
            ClientConfigProfile::builder()
                .api_key("secret".to_owned())
                .build()
        };
        for address in [None, Some("db:7233"), Some("https://db:7233")] {
            let connection = connection_of(with_key(), address).unwrap();
            assert_eq!(connection.target.scheme(), "https", "{address:?}");
            assert!(connection.tls_options.is_some());
        }
        let refused = connection_of(with_key(), Some("http://db:7233")).unwrap_err();
        assert!(refused.to_string().contains("without TLS"), "{refused}");
        let plain = connection_of(ClientConfigProfile::default(), None).unwrap();
        assert_eq!(plain.target.as_str(), "http://localhost:7233/");
    }

    #[test]
    fn a_server_that_refuses_differs_from_one_that_is_not_there() {
        use temporalio_client::tonic::Status;

        let told = |status| {
            let error = ClientConnectError::SystemInfoCallError(status);
            not_connected("db:7233".into(), true, &error)
        };
        let wrong_key = told(Status::unauthenticated("Request unauthorized."));
        assert_eq!(
            wrong_key.to_string(),
            "Temporal at db:7233 refuses this client: Request unauthorized."
        );
        let away = told(Status::unavailable("tcp connect error"));
        assert_eq!(
            away.to_string(),
            "cannot reach Temporal at db:7233 with TLS: tcp connect error"
        );
    }
}
