//! An authority that signs certificates.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // With the name that all certificates have, those that it signs would look self-signed.
        let name = &mut parameters.distinguished_name;
        name.push(DnType::CommonName, "an authority of tests");
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(parameters, key).unwrap())
    }

    /// Its own certificate, in PEM.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a name and its key, in PEM.
    pub(crate) fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let parameters = CertificateParams::new([name.to_owned()]).unwrap();
        let signed = parameters.signed_by(&key, &self.0).unwrap();
        (signed.pem(), key.serialize_pem())
    }

    /// Writes a certificate for a name, and returns the configuration that shows it.
    pub(crate) fn tls(&self, directory: &Path, name: &str) -> String {
        let (certificate, key) = self.sign(name);
        let at = |name: &str| directory.join(name);
        fs::write(at("certificate.pem"), certificate).unwrap();
        fs::write(at("key.pem"), key).unwrap();
        format!(
            "[tls]\ncertificate = '{}'\nkey = '{}'\n",
            at("certificate.pem").display(),
            at("key.pem").display()
        )
    }
}
