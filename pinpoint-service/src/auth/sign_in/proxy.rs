//! A proxy before the service that signs people in, and names them in a header. The header counts
//! for nothing without a proof that it is the proxy's.

use http::request::Parts;
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use tonic::Status;

use super::issuer::Issuer;
use super::{Person, SignInError};
use crate::config;

/// The certificate that the client of a connection has shown, as an extension of its requests. The
/// router's server puts it there, once the handshake of TLS has checked that one of the operator's
/// authorities has signed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate(pub CertificateDer<'static>);

/// A proxy that names people.
#[derive(Debug)]
pub(super) struct Proxy {
    header: String,
    proof: Proof,
}

#[derive(Debug)]
enum Proof {
    /// The connection is that of a client with a certificate of this name.
    Certificate(ServerName<'static>),
    /// The header is a token that the proxy signs.
    Assertion(Issuer),
}

impl Proxy {
    pub(super) fn new(config: &config::Proxy) -> Result<Self, SignInError> {
        let proof = match &config.proof {
            config::Proof::Certificate(certificate) => {
                let name = ServerName::try_from(certificate.name.clone());
                let name = name.map_err(|_| SignInError::Name(certificate.name.clone()))?;
                Proof::Certificate(name)
            }
            config::Proof::Assertion(issuer) => Proof::Assertion(Issuer::new(issuer)?),
        };
        Ok(Self {
            header: config.header.clone(),
            proof,
        })
    }

    /// The person whom the header names; none without such a header.
    pub(super) async fn person(&self, parts: &Parts) -> Result<Option<Person>, Status> {
        let header = &self.header;
        let mut values = parts.headers.get_all(header).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let refused = |why: String| Status::unauthenticated(format!("the header `{header}` {why}"));
        let value = match (value.to_str(), values.next()) {
            (Ok(value), None) => value,
            _ => return Err(refused("must be there once, in visible characters".into())),
        };
        let person = match &self.proof {
            Proof::Certificate(name) => {
                let shown = parts.extensions.get::<ClientCertificate>();
                let is_named = shown.is_some_and(|shown| {
                    let read = ParsedCertificate::try_from(&shown.0);
                    read.is_ok_and(|read| verify_server_name(&read, name).is_ok())
                });
                if !is_named {
                    return Err(refused(format!(
                        "counts only from the proxy whose certificate names {}",
                        name.to_str()
                    )));
                }
                Person::new(value, Vec::new())
            }
            Proof::Assertion(issuer) => {
                Some(
                    issuer
                        .person(value)
                        .await
                        .map_err(|status| match status.code() {
                            tonic::Code::Unauthenticated => {
                                refused(format!("proves nothing: {}", status.message()))
                            }
                            _ => status,
                        })?,
                )
            }
        };
        person.map_or_else(|| Err(refused("names nobody".into())), |it| Ok(Some(it)))
    }
}
