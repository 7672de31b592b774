//! The form of payloads on the server: compressed, and encrypted where a key is given.
//!
//! Compressed ones have the encoding `binary/zlib`, encrypted ones `binary/encrypted`, with
//! AES-256-GCM, the nonce in front; their content is the original payload, as protobuf. Codec
//! servers of Temporal's samples use the same forms.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use prost::Message;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use temporalio_common::data_converters::{
    PayloadCodec, PayloadConversionError, SerializationContextData,
};
use temporalio_common::protos::temporal::api::common::v1::Payload;

const ENCODING: &str = "encoding";
const ZLIB: &[u8] = b"binary/zlib";
const ENCRYPTED: &[u8] = b"binary/encrypted";

/// Smaller payloads stay uncompressed.
const WORTH_IT: usize = 1024;

/// The most bytes of a decompressed payload.
const MOST_BYTES: u64 = 64 << 20;

/// A key for payloads. Everything that workflows receive and return is encrypted with it; workers
/// without it can't continue.
#[derive(Clone)]
pub struct PayloadKey {
    key: LessSafeKey,
}

impl PayloadKey {
    /// Creates a key of 32 bytes; absent for other lengths.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let key = UnboundKey::new(&AES_256_GCM, bytes).ok()?;
        Some(Self {
            key: LessSafeKey::new(key),
        })
    }
}

impl std::fmt::Debug for PayloadKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PayloadKey")
    }
}

/// The reason why a payload can't be read.
#[derive(Debug, thiserror::Error)]
enum CodecError {
    #[error("a payload is encrypted: the worker needs the key with which its job was started")]
    NoKey,
    #[error("a payload can't be decrypted: it is damaged, or the worker has another key")]
    WrongKey,
    #[error("a payload can't be encrypted: the operating system's random number generator failed")]
    NoRandom,
    #[error("a payload is damaged: {0}")]
    Damaged(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("a payload has more than {MOST_BYTES} bytes")]
    TooLarge,
}

#[derive(Default)]
pub(crate) struct Codec {
    pub(crate) key: Option<PayloadKey>,
    pub(crate) unread: Unread,
}

/// The reason why a payload could not be read, until it is reported: the library retries the task
/// silently.
#[derive(Clone, Default)]
pub(crate) struct Unread(Arc<Mutex<Option<String>>>);

impl Unread {
    fn note(&self, error: &CodecError) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }

    pub(crate) fn take(&self) -> Option<String> {
        { self.0.lock().unwrap_or_else(PoisonError::into_inner) }.take()
    }
}

impl PayloadCodec for Codec {
    fn encode(
        &self,
        _: &SerializationContextData,
        payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let encoded = payloads.into_iter().map(|payload| self.encoded(payload));
        ready(encoded.collect::<Result<_, _>>().map_err(failed)).boxed()
    }

    fn decode(
        &self,
        _: &SerializationContextData,
        payloads: Vec<Payload>,
    ) -> BoxFuture<'static, Result<Vec<Payload>, PayloadConversionError>> {
        let decoded = payloads.into_iter().map(|payload| self.decoded(payload));
        let decoded = decoded.collect::<Result<_, _>>();
        let decoded = decoded.inspect_err(|error| self.unread.note(error));
        ready(decoded.map_err(failed)).boxed()
    }
}

impl Codec {
    fn encoded(&self, payload: Payload) -> Result<Payload, CodecError> {
        let payload = compressed(payload);
        match &self.key {
            Some(key) => encrypted(&payload, key),
            None => Ok(payload),
        }
    }

    fn decoded(&self, mut payload: Payload) -> Result<Payload, CodecError> {
        if has(&payload, ENCRYPTED) {
            let key = self.key.as_ref().ok_or(CodecError::NoKey)?;
            payload = decrypted(payload, key)?;
        }
        if has(&payload, ZLIB) {
            payload = decompressed(&payload)?;
        }
        Ok(payload)
    }
}

fn has(payload: &Payload, encoding: &[u8]) -> bool {
    payload
        .metadata
        .get(ENCODING)
        .is_some_and(|it| it == encoding)
}

fn with(encoding: &[u8], data: Vec<u8>) -> Payload {
    Payload {
        metadata: HashMap::from([(ENCODING.to_owned(), encoding.to_vec())]),
        data,
        ..Payload::default()
    }
}

fn compressed(payload: Payload) -> Payload {
    if payload.data.len() < WORTH_IT {
        return payload;
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory can't fail.
    let _ = encoder.write_all(&payload.encode_to_vec());
    match encoder.finish() {
        Ok(data) if data.len() < payload.data.len() => with(ZLIB, data),
        _ => payload,
    }
}

fn decompressed(payload: &Payload) -> Result<Payload, CodecError> {
    let mut data = Vec::new();
    let mut decoder = ZlibDecoder::new(&*payload.data).take(MOST_BYTES + 1);
    let read = decoder.read_to_end(&mut data);
    read.map_err(|error| CodecError::Damaged(error.into()))?;
    if data.len() as u64 > MOST_BYTES {
        return Err(CodecError::TooLarge);
    }
    Payload::decode(&*data).map_err(|error| CodecError::Damaged(error.into()))
}

fn encrypted(payload: &Payload, key: &PayloadKey) -> Result<Payload, CodecError> {
    let mut nonce = [0; NONCE_LEN];
    SystemRandom::new()
        .fill(&mut nonce)
        .map_err(|_| CodecError::NoRandom)?;
    let mut data = payload.encode_to_vec();
    let nonce_used = Nonce::assume_unique_for_key(nonce);
    key.key
        .seal_in_place_append_tag(nonce_used, Aad::empty(), &mut data)
        .map_err(|_| CodecError::TooLarge)?;
    Ok(with(ENCRYPTED, [&nonce[..], &data].concat()))
}

fn decrypted(payload: Payload, key: &PayloadKey) -> Result<Payload, CodecError> {
    let mut data = payload.data;
    let nonce = data
        .get(..NONCE_LEN)
        .and_then(|nonce| nonce.try_into().ok());
    let nonce = Nonce::assume_unique_for_key(nonce.ok_or(CodecError::WrongKey)?);
    let opened = key
        .key
        .open_within(nonce, Aad::empty(), &mut data, NONCE_LEN..);
    let opened = opened.map_err(|_| CodecError::WrongKey)?;
    Payload::decode(&*opened).map_err(|error| CodecError::Damaged(error.into()))
}

fn failed(error: CodecError) -> PayloadConversionError {
    PayloadConversionError::EncodingError(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(data: &[u8]) -> Payload {
        with(b"json/plain", data.to_vec())
    }

    fn codec(key: Option<u8>) -> Codec {
        Codec {
            key: key.map(|byte| PayloadKey::new(&[byte; 32]).unwrap()),
            ..Codec::default()
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for key in [None, Some(1)] {
            let codec = codec(key);
            for data in [vec![], vec![7; 100], vec![7; 100_000], (0..=255).collect()] {
                let payload = payload(&data);
                let encoded = codec.encoded(payload.clone()).unwrap();
                assert_eq!(has(&encoded, ENCRYPTED), key.is_some());
                assert!(data.len() < 100_000 || encoded.data.len() < data.len() / 10);
                assert_eq!(codec.decoded(encoded).unwrap(), payload);
            }
        }
    }

    #[test]
    fn payloads_of_others_are_left_as_they_are() {
        let foreign = with(b"json/protobuf", b"{}".to_vec());
        assert_eq!(codec(Some(1)).decoded(foreign.clone()).unwrap(), foreign);
        assert_eq!(
            codec(None).decoded(Payload::default()).unwrap(),
            Payload::default()
        );
    }

    #[test]
    fn equal_payloads_are_encrypted_differently() {
        let codec = codec(Some(1));
        let one = codec.encoded(payload(b"secret")).unwrap();
        assert_ne!(one, codec.encoded(payload(b"secret")).unwrap());
        assert!(!String::from_utf8_lossy(&one.data).contains("secret"));
    }

    #[test]
    fn what_cannot_be_decoded_says_why() {
        let encoded = codec(Some(1)).encoded(payload(b"secret")).unwrap();
        let of = |codec: Codec, payload| codec.decoded(payload).unwrap_err().to_string();
        assert!(of(codec(None), encoded.clone()).contains("needs the key"));
        assert!(of(codec(Some(2)), encoded.clone()).contains("another key"));
        let mut damaged = encoded;
        *damaged.data.last_mut().unwrap() ^= 1;
        assert!(of(codec(Some(1)), damaged).contains("damaged"));
        assert!(of(codec(Some(1)), with(ENCRYPTED, vec![1, 2])).contains("damaged"));
        assert!(of(codec(None), with(ZLIB, vec![1, 2])).contains("damaged"));
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        let zeros = vec![0; 1 << 20];
        for _ in 0..=MOST_BYTES >> 20 {
            encoder.write_all(&zeros).unwrap();
        }
        let bomb = with(ZLIB, encoder.finish().unwrap());
        assert!(matches!(decompressed(&bomb), Err(CodecError::TooLarge)));
    }

    #[test]
    fn a_key_has_32_bytes() {
        assert!(PayloadKey::new(&[0; 32]).is_some());
        assert!(PayloadKey::new(&[0; 31]).is_none());
        assert!(PayloadKey::new(&[]).is_none());
    }
}
