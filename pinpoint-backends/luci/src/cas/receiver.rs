//! The content of a blob while it comes: decompressed and compared with its digest.

use std::io;

use bytes::{Buf, Bytes};
use sha2::{Digest as _, Sha256};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use super::Digest;
use super::error::TransferError;

/// The most that is decompressed at once.
const PIECE: usize = 256 << 10;

/// The largest window of compressed data, as a power of two: 8 MiB, the least that a decoder is
/// asked to support (RFC 8878, section 3.1.1.1.2). Data that need more are read uncompressed.
const LARGEST_WINDOW: u32 = 23;

/// Receives a blob in parts. It never holds more than a piece and a window.
pub(super) struct Receiver {
    digest: Digest,
    hasher: Sha256,
    received: u64,
    decoder: Option<Decoder<'static>>,
}

impl Receiver {
    pub(super) fn new(digest: Digest) -> Self {
        Self {
            digest,
            hasher: Sha256::new(),
            received: 0,
            decoder: None,
        }
    }

    /// Restarts for data that begin at [`offset`](Self::offset), compressed or not.
    pub(super) fn begin(&mut self, is_compressed: bool) -> Result<(), TransferError> {
        self.decoder = None;
        if is_compressed {
            let mut decoder = Decoder::new().map_err(|error| self.damaged(error))?;
            let limit = zstd::zstd_safe::DParameter::WindowLogMax(LARGEST_WINDOW);
            let limited = decoder.set_parameter(limit);
            limited.map_err(|error| self.damaged(error))?;
            self.decoder = Some(decoder);
        }
        Ok(())
    }

    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// The bytes of the blob that were received.
    pub(super) fn offset(&self) -> u64 {
        self.received
    }

    /// The next part of the blob from these data; none when all of them were taken.
    pub(super) fn part(&mut self, data: &mut Bytes) -> Result<Option<Bytes>, TransferError> {
        let part = if self.decoder.is_some() {
            self.decompress(data)?
        } else {
            std::mem::take(data)
        };
        if part.is_empty() {
            return Ok(None);
        }
        if self.received + part.len() as u64 > self.digest.size() {
            return Err(self.other_content(part.len()));
        }
        self.received += part.len() as u64;
        self.hasher.update(&part);
        Ok(Some(part))
    }

    /// Returns whether the blob is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.received == self.digest.size()
    }

    /// Compares the received content with the digest.
    pub(super) fn check(&self) -> Result<(), TransferError> {
        let hash = self.hasher.clone().finalize();
        if Digest::new(hash.into(), self.received) == self.digest {
            Ok(())
        } else {
            Err(self.other_content(0))
        }
    }

    /// Empty only when all input was taken and all output was given.
    fn decompress(&mut self, data: &mut Bytes) -> Result<Bytes, TransferError> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(Bytes::new());
        };
        // One byte more than there may be shows that there is more.
        let left = self.digest.size() - self.received;
        let space = usize::try_from(left).unwrap_or(PIECE).min(PIECE - 1) + 1;
        let mut piece = Vec::with_capacity(space);
        let mut output = OutBuffer::around(&mut piece);
        loop {
            let before = output.pos();
            let mut input = InBuffer::around(data);
            let result = decoder.run(&mut input, &mut output);
            let taken = input.pos();
            data.advance(taken);
            if let Err(error) = result {
                return Err(self.damaged(error));
            }
            if output.pos() == output.capacity() || (taken == 0 && output.pos() == before) {
                break;
            }
        }
        Ok(piece.into())
    }

    fn damaged(&self, source: io::Error) -> TransferError {
        TransferError::Compressed {
            digest: self.digest,
            source,
        }
    }

    fn other_content(&self, more: usize) -> TransferError {
        TransferError::OtherContent {
            digest: self.digest,
            length: self.received + more as u64,
        }
    }
}

/// All of a blob that came in one piece.
pub(super) fn whole(
    digest: Digest,
    is_compressed: bool,
    mut data: Bytes,
) -> Result<Bytes, TransferError> {
    let mut receiver = Receiver::new(digest);
    receiver.begin(is_compressed)?;
    let Some(first) = receiver.part(&mut data)? else {
        return receiver.check().map(|()| Bytes::new());
    };
    let mut parts = Vec::new();
    while let Some(part) = receiver.part(&mut data)? {
        parts.push(part);
    }
    receiver.check()?;
    if parts.is_empty() {
        return Ok(first);
    }
    parts.insert(0, first);
    Ok(parts.concat().into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Receives a blob in pieces of these lengths, and again from where the cuts are.
    fn receive(content: &[u8], is_compressed: bool, length: usize, cuts: &[usize]) -> Vec<u8> {
        let mut receiver = Receiver::new(Digest::of(content));
        let mut all = Vec::new();
        let mut cuts = cuts.to_vec();
        loop {
            receiver.begin(is_compressed).unwrap();
            let rest = &content[receiver.offset() as usize..];
            let sent = if is_compressed {
                // Two frames, as a store may keep it.
                let (first, second) = rest.split_at(rest.len() / 3);
                let frame = |part| zstd::bulk::compress(part, 3).unwrap();
                [frame(first), frame(second)].concat()
            } else {
                rest.to_vec()
            };
            let end = cuts.pop().unwrap_or(usize::MAX).min(sent.len());
            for message in sent[..end].chunks(length) {
                let mut data = Bytes::copy_from_slice(message);
                while let Some(part) = receiver.part(&mut data).unwrap() {
                    all.extend_from_slice(&part);
                }
            }
            if end == sent.len() {
                assert!(receiver.is_complete());
                receiver.check().unwrap();
                return all;
            }
        }
    }

    fn content() -> impl Strategy<Value = Vec<u8>> {
        let bytes = proptest::collection::vec(0_u8..4, 1..5_000);
        (bytes, 1_usize..300).prop_map(|(bytes, times)| bytes.repeat(times))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_blob_is_received_however_it_is_cut(
            content in content(), is_compressed: bool, length in 1_usize..100_000,
            cuts in proptest::collection::vec(0_usize..100_000, 0..4),
        ) {
            prop_assert_eq!(receive(&content, is_compressed, length, &cuts), content);
        }

        #[test]
        fn other_content_is_refused(
            content in content(), is_compressed: bool, at: prop::sample::Index, byte: u8,
        ) {
            let digest = Digest::of(&content);
            let sent = if is_compressed { zstd::bulk::compress(&content, 3).unwrap() } else { content.clone() };
            let result = |sent: Vec<u8>| whole(digest, is_compressed, sent.into());
            prop_assert_eq!(result(sent.clone()).unwrap(), content);
            let mut bent = sent.clone();
            let at = at.index(bent.len());
            bent[at] ^= byte.max(1);
            // A bent header may still say the same.
            prop_assert!(result(bent).map_or(true, |read| Digest::of(&read) == digest));
            prop_assert!(result(sent[..sent.len() - 1].to_vec()).is_err());
            prop_assert!(whole(digest, !is_compressed, sent.into()).is_err());
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bomb = zstd::bulk::compress(&vec![0; 50 << 20], 3).unwrap();
        assert!(bomb.len() < 100_000);
        let digest = Digest::of(&[0; 1000]);
        let error = whole(digest, true, bomb.into()).unwrap_err();
        assert!(matches!(
            error,
            TransferError::OtherContent { length: 1001, .. }
        ));
    }

    #[test]
    fn a_window_that_needs_much_memory_is_refused() {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.window_log(24).unwrap();
        let content = vec![7; 1 << 20];
        io::Write::write_all(&mut encoder, &content).unwrap();
        let sent = encoder.finish().unwrap();
        let error = whole(Digest::of(&content), true, sent.into()).unwrap_err();
        assert!(matches!(error, TransferError::Compressed { .. }), "{error}");
    }
}
