//! A store in a PostgreSQL database.

use std::fs::File;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};

use super::database::{Database, Dialect, Pool};
use super::schema::postgres::{prepare, version};
use super::server::{Server, within};
use super::{JobStore, Patience, StoreError, without_password};

/// The pause between two attempts to open a store.
const PAUSE: Duration = Duration::from_millis(50);

impl JobStore {
    /// Opens the store in a database, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, and makes its
    /// tables if they do not exist, in a schema named `pinpoint`. Missing parts of the address are
    /// taken from the environment (`PGHOST`, `PGPASSWORD` and their like) and from the file that
    /// `PGPASSFILE` names, or `~/.pgpass`.
    ///
    /// # Errors
    ///
    /// When the database cannot be reached, is newer, or is not ours.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, Patience::default()).await
    }

    /// Like [`JobStore::connect`], with a choice of timeouts for the database.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn connect_with(url: &str, patience: Patience) -> Result<Self, StoreError> {
        connect_database(url, patience, prepare)
            .await
            .map(Self::new)
    }
}

/// Connects to a database whose tables are made or checked by `prepare`, which returns the schema
/// to look for them in, if it is to be set.
pub async fn connect_database(
    url: &str,
    patience: Patience,
    prepare: impl AsyncFn(&mut PgConnection, &str) -> Result<Option<&'static str>, StoreError>,
) -> Result<Database, StoreError> {
    let options = options_of(url)?.options([
        // Neither a machine that died between two statements nor one that the network has cut
        // off blocks others for long.
        ("idle_in_transaction_session_timeout", "10s"),
        ("tcp_user_timeout", "10s"),
        ("tcp_keepalives_idle", "10s"),
        ("tcp_keepalives_interval", "5s"),
        ("tcp_keepalives_count", "3"),
        // The plan depends on the query: a rare word needs a different plan from a common one,
        // and no plan fits all words.
        ("plan_cache_mode", "force_custom_plan"),
    ]);
    let name = without_password(url);
    let failed = |source| StoreError::from_database(&name, Dialect::Postgres, source);
    let until = Instant::now() + patience.retry;
    let own_schema = loop {
        let prepared = async {
            let mut connection = options.connect().await.map_err(failed)?;
            let own_schema = prepare(&mut connection, &name).await?;
            connection.close().await.map_err(failed)?;
            Ok::<_, StoreError>(own_schema)
        };
        // A server may accept and then stay silent.
        let limit = until.saturating_duration_since(Instant::now()) + PAUSE;
        let prepared = match within(limit, async { Ok(prepared.await) }).await {
            Ok(prepared) => prepared,
            Err(late) => Err(failed(late)),
        };
        match prepared {
            Err(error) if begun(&error) && Instant::now() < until => {
                tokio::time::sleep(PAUSE).await;
            }
            prepared => break prepared?,
        }
    };
    let options = match own_schema {
        Some(schema) => options.options([("search_path", schema)]),
        None => options,
    };
    Ok(Database {
        pool: Pool::Postgres(Server::new(options, patience)),
        name,
    })
}

/// The version of the tables of a database, if this program can use them; `None` where there are no
/// tables. Nothing changes: [`JobStore::connect`] would migrate them.
///
/// # Errors
///
/// Those of [`JobStore::connect`], without its patience.
pub async fn version_at(url: &str) -> Result<Option<u32>, StoreError> {
    let name = without_password(url);
    let failed = |source| StoreError::from_database(&name, Dialect::Postgres, source);
    let options = options_of(url)?;
    let looked = async {
        let mut connection = options.connect().await.map_err(failed)?;
        let found = version(&mut connection, &name).await?;
        connection.close().await.map_err(failed)?;
        Ok(found)
    };
    match within(Patience::default().connect, async { Ok(looked.await) }).await {
        Ok(found) => found,
        Err(late) => Err(failed(late)),
    }
}

fn options_of(url: &str) -> Result<PgConnectOptions, StoreError> {
    let wrong = |reason: String| StoreError::Address {
        url: without_password(url),
        reason,
    };
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(wrong("it does not begin with postgres://".into()));
    }
    let options: PgConnectOptions = url
        .parse()
        .map_err(|error: sqlx::Error| wrong(error.to_string()))?;
    for (name, file) in certificates(url) {
        // A later error, when TLS begins, would not name it.
        if let Err(error) = File::open(&file) {
            return Err(wrong(format!(
                "{name} names {file}, which can't be read: {error}"
            )));
        }
    }
    Ok(options.application_name("pinpoint"))
}

/// The files of certificates and keys that a connection to this address reads, each with its
/// source: the address, or else the environment.
fn certificates(url: &str) -> Vec<(&'static str, String)> {
    // Each name with the spellings of the address, and the variable of the environment.
    const NAMES: [(&[&str], &str); 3] = [
        (&["sslrootcert", "ssl-root-cert", "ssl-ca"], "PGSSLROOTCERT"),
        (&["sslcert", "ssl-cert"], "PGSSLCERT"),
        (&["sslkey", "ssl-key"], "PGSSLKEY"),
    ];
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let told = |names: &[&str]| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut told = pairs.filter(|(name, _)| names.contains(name));
        told.next_back().map(|(_, value)| value.to_owned())
    };
    let mode = told(&["sslmode", "ssl-mode"]).or_else(|| std::env::var("PGSSLMODE").ok());
    if mode.is_some_and(|mode| mode == "disable") {
        return Vec::new();
    }
    let files = NAMES.iter().filter_map(|(names, variable)| {
        let (name, file) = match told(names) {
            Some(file) => (names[0], file),
            None => (*variable, std::env::var(variable).ok()?),
        };
        // A certificate itself, or a name that is written in another way.
        let is_path = !file.is_empty() && !file.contains("-----BEGIN") && !file.contains('%');
        is_path.then_some((name, file))
    });
    files.collect()
}

/// Returns whether a server broke the connection or is just starting. An invalid address is
/// reported at once.
fn begun(error: &StoreError) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let StoreError::Unreachable { source, .. } = error else {
        return false;
    };
    match &source.0 {
        sqlx::Error::Io(error) => matches!(
            error.kind(),
            ConnectionReset | ConnectionAborted | BrokenPipe | UnexpectedEof
        ),
        error => error
            .as_database_error()
            .and_then(|error| error.code())
            .is_some_and(|code| code.starts_with("57P")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_missing_is_named() {
        let wrong = options_of("postgres://db/jobs?sslmode=verify-full&sslrootcert=/none/ca.pem");
        let message = wrong.unwrap_err().to_string();
        assert!(
            message.contains("sslrootcert names /none/ca.pem"),
            "{message}"
        );
        options_of("postgres://db/jobs?sslmode=disable&sslrootcert=/none/ca.pem").unwrap();
        options_of("postgres://db/jobs").unwrap();
    }
}
