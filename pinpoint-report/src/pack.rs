//! Data that the page unpacks on demand.
//!
//! JSON, compressed with zlib and written in base64: a format that a browser's
//! `DecompressionStream` reads, and that cannot end a script element.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

pub(super) fn pack(data: &impl Serialize) -> io::Result<String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    serde_json::to_writer(&mut encoder, data)?;
    encoder.flush()?;
    Ok(STANDARD.encode(encoder.finish()?))
}

/// Texts in blocks that are unpacked one at a time.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    done: Vec<String>,
    open: Vec<String>,
    size: usize,
    packed: usize,
}

/// The place of a text: its block, and its place in that block.
pub(super) type BlockPosition = (usize, usize);

impl Blocks {
    /// Characters of a block before it is packed: unpacked in a few milliseconds,
    /// and enough for the texts of one program to be packed well.
    const SIZE: usize = 128 << 10;

    /// Adds a text, unless all blocks together would become larger than `most`.
    pub(super) fn add(&mut self, text: String, most: usize) -> io::Result<Option<BlockPosition>> {
        // Base64 is longer by a third, and packing never makes text longer.
        if self.packed + (self.size + text.len()) * 4 / 3 > most {
            self.close()?;
            if self.packed + text.len() * 4 / 3 > most {
                return Ok(None);
            }
        }
        let place = (self.done.len(), self.open.len());
        self.size += text.len();
        self.open.push(text);
        if self.size >= Self::SIZE {
            self.close()?;
        }
        Ok(Some(place))
    }

    fn close(&mut self) -> io::Result<()> {
        if !self.open.is_empty() {
            let packed = pack(&std::mem::take(&mut self.open))?;
            self.packed += packed.len();
            self.done.push(packed);
            self.size = 0;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<Vec<String>> {
        self.close()?;
        Ok(self.done)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn unpack(text: &str) -> Vec<String> {
        let bytes = STANDARD.decode(text).unwrap();
        let mut json = String::new();
        flate2::read::ZlibDecoder::new(&bytes[..])
            .read_to_string(&mut json)
            .unwrap();
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn every_text_is_where_it_was_put() {
        let mut blocks = Blocks::default();
        let text = |number: usize| format!("{number} {}</script>", "x".repeat(number % 977));
        let places: Vec<BlockPosition> = (0..2000)
            .map(|number| blocks.add(text(number), 2 << 20).unwrap().unwrap())
            .collect();
        let blocks: Vec<Vec<String>> = (blocks.finish().unwrap().iter())
            .map(|block| unpack(block))
            .collect();
        assert!(blocks.len() > 3);
        for (number, (block, place)) in places.into_iter().enumerate() {
            assert_eq!(blocks[block][place], text(number));
        }
    }

    #[test]
    fn blocks_stay_below_their_limit() {
        // Data that cannot be packed well.
        let mut state = 1_u64;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            format!("{:x}", state >> 8)
        };
        let mut blocks = Blocks::default();
        let mut refused = 0;
        for _ in 0..300 {
            let text: String = (0..100).map(|_| noise()).collect();
            refused += usize::from(blocks.add(text, 200_000).unwrap().is_none());
        }
        assert!(refused > 0);
        let size: usize = blocks.finish().unwrap().iter().map(String::len).sum();
        assert!((100_000..=200_000).contains(&size), "{size}");
    }
}
