//! Signing in, in every way except by tokens of the store.

mod browser;
mod proxy;
mod signed_tokens;

use pinpoint_service::config::Config;
use pinpoint_service::{ClientCertificate, SignIn};
use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;

use crate::provider::{Provider, SECRET};
use crate::world::World;

/// A user with a role.
const ADA: &str = "ada@admins.example.org";

const USER: &str = "/pinpoint/v1/user";

/// The roles of the tests: by user, group and domain.
pub(crate) const ROLES: &str = "
    [sign_in.roles]
    viewer = ['viewer@example.org']
    editor = ['editor@example.org', 'group:editors']
    admin = ['domain:admins.example.org']
    ask = 'root@example.org'
";

/// The ways of a configuration, whose tables are below `sign_in`.
pub(crate) fn ways(text: &str) -> SignIn {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
    let text = text.replace("SECRET", secret.to_str().unwrap());
    let config = format!(
        "listen = '127.0.0.1:80'\nstate_dir = '/s'\nbots = []\n\
         tls = {{ certificate = '/c', key = '/k' }}\n{text}\n{ROLES}"
    );
    let config = Config::read(&config).unwrap();
    let sign_in = SignIn::new(&config.sign_in, "nobody").unwrap();
    assert!(!format!("{sign_in:?}").contains(SECRET));
    sign_in
}

pub(crate) fn oidc(provider: &Provider) -> String {
    let issuer = &provider.issuer;
    format!(
        "[sign_in.oidc]\nissuer = '{issuer}'\nurl = 'https://pinpoint.example.org'\n\
         client_id = 'pinpoint'\nclient_secret = {{ file = 'SECRET' }}\n"
    )
}

pub(crate) fn bearer(provider: &Provider) -> String {
    format!(
        "[sign_in.bearer]\nissuer = '{}'\naudience = 'api'\n",
        provider.issuer
    )
}

pub(crate) fn assertion(provider: &Provider) -> String {
    let issuer = &provider.issuer;
    format!(
        "[sign_in.proxy]\nheader = 'X-Assertion'\nproof.assertion = {{ issuer = '{issuer}', \
         audience = 'proxy', jwks_url = '{issuer}/keys', claims = {{ unverified_email = true }} }}\n"
    )
}

pub(crate) const CERTIFICATE: &str = "[sign_in.proxy]\nheader = 'X-WEBAUTH-USER'\n\
    proof.certificate = { authority = '/a', name = 'proxy.example.org' }\n";

/// A certificate for a name, as a handshake would give it.
pub(crate) fn certificate(name: &str) -> ClientCertificate {
    let parameters = CertificateParams::new([name.to_owned()]).unwrap();
    let signed = parameters
        .self_signed(&KeyPair::generate().unwrap())
        .unwrap();
    ClientCertificate(signed.der().clone())
}

/// The answer to a request with this header: its status, and its body.
async fn status(world: &World, name: &str, value: &str) -> (u16, String) {
    let answer = world
        .send_with("GET", USER, &[(name, value)], &Value::Null)
        .await;
    (answer.status.as_u16(), answer.body.to_string())
}
