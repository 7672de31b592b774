//! A store that is reached with TLS.

use std::sync::Arc;

use pinpoint_backends::cas::{Cas, CasError, CasOptions, Digest};
use pinpoint_backends::google::{Backoff, TokenSource, Tokens};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Identity, Server, ServerTlsConfig};

use super::fake::{Fake, INSTANCE, Nowhere, Settings};
use super::messages::capabilities_server::CapabilitiesServer;
use super::messages::content_addressable_storage_server::ContentAddressableStorageServer;

#[tokio::test]
async fn a_store_must_prove_who_it_is() {
    let settings = Settings {
        token: Some("good"),
        ..Settings::default()
    };
    let fake = Fake::start(settings).await;
    let digest = fake.add("content");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let identity = Identity::from_pem(made.cert.pem(), made.signing_key.serialize_pem());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = Server::builder()
        .tls_config(ServerTlsConfig::new().identity(identity))
        .unwrap()
        .add_service(CapabilitiesServer::new(fake.clone()))
        .add_service(ContentAddressableStorageServer::new(fake.clone()))
        .serve_with_incoming(TcpListenerStream::new(listener));
    tokio::spawn(server);
    let read = async |certificates: Vec<String>, digest: Digest| {
        let mut options = CasOptions::at(&format!("https://localhost:{port}"), INSTANCE);
        options.certificates = certificates;
        options.backoff = Backoff::NEVER;
        let source = TokenSource::Command(vec!["echo".into(), "good".into()]);
        let cas = Cas::new(options, Tokens::new(source, &["a"], Arc::new(Nowhere))).unwrap();
        cas.read(&digest, 100).await
    };
    assert_eq!(
        read(vec![made.cert.pem()], digest).await.unwrap(),
        "content"
    );
    let before = fake.requests.lock().unwrap().len();
    let error = read(Vec::new(), digest).await.unwrap_err();
    assert!(matches!(error, CasError::GaveUp { .. }), "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
    // So no token was sent.
    assert_eq!(fake.requests.lock().unwrap().len(), before);
}
