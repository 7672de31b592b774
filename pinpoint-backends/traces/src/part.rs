//! Values as they come: of one commit, from one file, for a section of traces.
//!
//! ```text
//! version    1 byte
//! traces     2 bytes each, ascending: their offset in the section
//! values     8 bytes each
//! checksum   4 bytes, CRC-32 of all before
//! ```
//!
//! All numbers are little-endian. Nothing is compressed: a part is written once and soon becomes
//! part of blocks.

use super::block::BlockError;

/// The number of traces of a section. A section is sealed at once.
pub(super) const SECTION: u32 = 16_384;

const VERSION: u8 = 1;
const PER_VALUE: usize = 10;

/// The values, by the offset of their trace in the section, ascending.
pub(super) fn encode(values: &[(u16, f64)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(values.len() * PER_VALUE + 5);
    out.push(VERSION);
    out.extend(values.iter().flat_map(|(trace, _)| trace.to_le_bytes()));
    out.extend(values.iter().flat_map(|(_, value)| value.to_le_bytes()));
    let checksum = crc32fast::hash(&out);
    out.extend(checksum.to_le_bytes());
    out
}

pub(super) fn decode(bytes: &[u8]) -> Result<Vec<(u16, f64)>, BlockError> {
    let wrong = |what: &str| BlockError(what.into());
    let (content, checksum) = bytes
        .split_last_chunk::<4>()
        .ok_or_else(|| wrong("too short"))?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return Err(wrong("the checksum differs"));
    }
    let Some((&VERSION, content)) = content.split_first() else {
        return Err(wrong("another version of parts"));
    };
    let count = content.len() / PER_VALUE;
    let (traces, values) = content.split_at(2 * count);
    let traces = traces.as_chunks::<2>().0.iter();
    let values = values.as_chunks::<8>().0.iter();
    let pairs = traces.zip(values);
    Ok(pairs
        .map(|(trace, value)| (u16::from_le_bytes(*trace), f64::from_le_bytes(*value)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_comes_back() {
        let values = [(0, 1.5), (7, -0.0), (16_383, f64::MIN_POSITIVE)];
        let bytes = encode(&values);
        assert_eq!(decode(&bytes), Ok(values.to_vec()));
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err());
        }
    }
}
