//! Cursors: the beginning of a page of a list. They are signed with a key that all processes of a
//! store share, and fit only the list and the filter that they were made for.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use pinpoint_backends::store::JobStore;
use ring::hmac::{self, HMAC_SHA256, Key};
use tokio::sync::OnceCell;
use tonic::Status;

use super::super::errors;

/// The bytes of a signature.
const SIGNATURE: usize = 32;

/// The key of cursors, once read.
#[derive(Debug, Default)]
pub(crate) struct CursorKey(OnceCell<Key>);

impl CursorKey {
    pub(super) async fn of(&self, store: &JobStore) -> Result<&Key, Status> {
        let key = self.0.get_or_try_init(async || {
            let secret = store.shared_secret("cursors").await?;
            Ok(Key::new(HMAC_SHA256, secret.as_str().as_bytes()))
        });
        key.await.map_err(errors::store)
    }
}

/// The pages of a list with a filter.
pub(super) struct Cursors<'a> {
    pub(super) key: &'a Key,
    /// The name of the list.
    pub(super) list: &'a str,
    /// The filter, in bytes that are the same for the same filter.
    pub(super) filter: &'a [u8],
}

impl Cursors<'_> {
    /// The signed bytes, which differ for any two cursors.
    fn signed(&self, place: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in [self.list.as_bytes(), self.filter, place] {
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part);
        }
        bytes
    }

    /// The cursor of a place.
    pub(super) fn token(&self, place: &str) -> String {
        let signature = hmac::sign(self.key, &self.signed(place.as_bytes()));
        let bytes = [signature.as_ref(), place.as_bytes()].concat();
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The place of a cursor; nothing if it is empty.
    pub(super) fn place(&self, token: &str) -> Result<Option<String>, Status> {
        if token.is_empty() {
            return Ok(None);
        }
        let place = || {
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).ok()?;
            let (signature, place) = bytes.split_at_checked(SIGNATURE)?;
            hmac::verify(self.key, &self.signed(place), signature).ok()?;
            String::from_utf8(place.to_vec()).ok()
        };
        let problem = "this token is not of an earlier answer to the same request; leave it out to start from the first page";
        let place = place().ok_or_else(|| errors::field("page_token", problem))?;
        Ok(Some(place))
    }
}

/// The size of a page.
pub(super) fn page_size(asked: Option<u32>, default: u32, most: u32) -> Result<u32, Status> {
    match asked.unwrap_or(default) {
        size if (1..=most).contains(&size) => Ok(size),
        _ => {
            let problem = format!("give a number from 1 to {most}, or leave it out for {default}");
            Err(errors::field("page_size", &problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_fits_its_list_and_its_filter_alone() {
        let key = Key::new(HMAC_SHA256, b"secret");
        let cursors = |list, filter| Cursors {
            key: &key,
            list,
            filter,
        };
        let token = cursors("jobs", b"bot=lab").token("after");
        let place = cursors("jobs", b"bot=lab").place(&token).unwrap();
        assert_eq!(place.as_deref(), Some("after"));
        assert_eq!(cursors("jobs", b"").place("").unwrap(), None);
        assert!(cursors("jobs", b"bot=lap").place(&token).is_err());
        assert!(cursors("runs", b"bot=lab").place(&token).is_err());
        assert!(cursors("jobsb", b"ot=lab").place(&token).is_err());
        for place in 0..token.len() {
            let mut altered = token.clone().into_bytes();
            altered[place] = if altered[place] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert!(cursors("jobs", b"bot=lab").place(&altered).is_err());
        }
        for bad in ["x", "====", "é"] {
            assert!(cursors("jobs", b"bot=lab").place(bad).is_err());
        }
    }
}
