//! A service where people sign in with a browser, and the provider where they do.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use super::visitor::Visitor;
use super::{free_port, npm_package};
use crate::authority::Authority;
use crate::chromium::Chromium;
use crate::scene::Scene;

pub(super) const SECRET: &str = "a secret of the test: 2%+";

/// A provider; one that is dropped is killed.
pub(super) struct Provider {
    child: Child,
    pub(super) issuer: String,
    /// Kept, so that it can continue to write.
    _said: BufReader<ChildStdout>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Provider {
    fn start(callback: &str) -> Self {
        let directory = npm_package("oidc-provider").join("../..");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/provider.mjs");
        let child = Command::new("node")
            .args([script, callback])
            .env(
                "PINPOINT_TEST_OIDC_PROVIDER",
                fs::canonicalize(directory).unwrap(),
            )
            .env("PINPOINT_TEST_CLIENT_SECRET", SECRET)
            .stdout(Stdio::piped())
            // It warns of matters that a test ignores.
            .stderr(Stdio::null())
            .spawn();
        let mut child = child.expect("Node.js 20 or later: `apt-get install nodejs`");
        let mut issuer = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut issuer).unwrap();
        let issuer = issuer.trim().to_owned();
        assert!(
            issuer.starts_with("http://"),
            "the provider has ended; run node {script} {callback}"
        );
        Self {
            child,
            issuer,
            _said: said,
        }
    }
}

/// The service, the people of `example.org` being its editors.
pub(super) struct Team {
    pub(super) provider: Provider,
    pub(super) authority: Authority,
    pub(super) scene: Scene,
    pub(super) home: String,
    /// Its certificate and its secret.
    _directory: TempDir,
}

impl Team {
    /// A team with more configuration.
    pub(super) fn new(more: &str) -> Self {
        let port = free_port();
        let home = format!("https://localhost:{port}");
        let provider = Provider::start(&format!("{home}/sign-in/callback"));
        let authority = Authority::new();
        let directory = tempfile::tempdir().unwrap();
        let secret = directory.path().join("secret");
        fs::write(&secret, SECRET).unwrap();
        let tls = authority.tls(directory.path(), "localhost");
        let scene = Scene::on(
            port,
            &format!(
                "{tls}\n[sign_in.oidc]\nissuer = '{}'\nurl = '{home}'\nclient_id = 'pinpoint'\n\
                 client_secret = {{ file = '{}' }}\n\
                 [sign_in.roles]\neditor = ['domain:example.org']\n{more}",
                provider.issuer,
                secret.display()
            ),
        );
        Self {
            provider,
            authority,
            scene,
            home,
            _directory: directory,
        }
    }

    /// A browser at it.
    pub(super) fn visitor(&self) -> Visitor {
        let browser = Chromium::start_with(&[
            "--ignore-certificate-errors",
            // The provider's pages ask for fonts of others.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
        ]);
        let mut visitor = Visitor::with(browser, &self.home);
        visitor.also_at(&self.provider.issuer);
        visitor.also_at("https://fonts.googleapis.com/");
        visitor
    }

    /// Signs in at the provider's page, and consents.
    #[track_caller]
    pub(super) fn sign_in(&self, visitor: &mut Visitor, user: &str) {
        let user = json!(user);
        visitor.follow(&format!(
            "document.querySelector('[name=login]').value = {user};
             document.querySelector('[name=password]').value = 'any';
             document.querySelector('form').submit()"
        ));
        visitor.follow("document.querySelector('form').submit()");
    }

    /// The secret of the browser's session.
    pub(super) fn session(&self, visitor: &mut Visitor) -> String {
        let cookies = visitor.call("Network.getCookies", json!({ "urls": [&self.home] }));
        let mut cookies = cookies["cookies"].as_array().unwrap().iter();
        let session = cookies.find(|cookie| cookie["name"] == "__Host-pinpoint");
        session.unwrap()["value"].as_str().unwrap().to_owned()
    }
}
