//! The values of one key for a segment of traces: a posting list for each value, as one column.
//!
//! ```text
//! version    1 byte
//! width      1 byte: 1, 2 or 4
//! values     for each trace `width` bytes: the number of its value + 1, or 0 without the key
//! checksum   4 bytes, CRC-32 of all before
//! ```
//!
//! All numbers are little-endian. The traces of a condition are found by one pass over a column,
//! whatever the condition; the parameters of traces by a look at each. With lists for each value,
//! the second would have to read all of them.

use super::block::BlockError;

/// The number of traces of a segment.
pub(super) const SEGMENT: u32 = 65_536;

const VERSION: u8 = 1;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Column {
    /// Numbers of values + 1, in the width.
    width: Width,
    content: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    #[default]
    One = 1,
    Two = 2,
    Four = 4,
}

impl Width {
    fn of(code: u32) -> Self {
        match code {
            0..=0xff => Self::One,
            0x100..=0xffff => Self::Two,
            _ => Self::Four,
        }
    }
}

impl Column {
    /// The size in memory.
    pub(super) fn bytes(&self) -> usize {
        self.content.len() + 64
    }

    fn code(&self, offset: usize) -> u32 {
        let code = match self.width {
            Width::One => self.content.get(offset).map(|it| u32::from(*it)),
            Width::Two => (self.content.get(2 * offset..2 * offset + 2))
                .and_then(|it| it.try_into().ok())
                .map(|it| u32::from(u16::from_le_bytes(it))),
            Width::Four => (self.content.get(4 * offset..4 * offset + 4))
                .and_then(|it| it.try_into().ok())
                .map(u32::from_le_bytes),
        };
        code.unwrap_or(0)
    }

    /// The number of the value that a trace has.
    pub(super) fn get(&self, offset: usize) -> Option<u32> {
        self.code(offset).checked_sub(1)
    }

    /// Sets the values of traces, by their offset in the segment.
    pub(super) fn extend(&mut self, values: &[(usize, u32)]) {
        let most = values.iter().map(|(_, value)| value + 1).max().unwrap_or(0);
        let width = self.width.max(Width::of(most));
        let length = self.content.len() / self.width as usize;
        let wanted = values.iter().map(|(at, _)| at + 1).max().unwrap_or(0);
        let mut codes: Vec<u32> = (0..length).map(|at| self.code(at)).collect();
        codes.resize(length.max(wanted), 0);
        for (at, value) in values {
            if let Some(code) = codes.get_mut(*at) {
                *code = value + 1;
            }
        }
        let bytes = codes.iter().map(|code| code.to_le_bytes());
        self.content = match width {
            Width::One => bytes.map(|it| it[0]).collect(),
            Width::Two => bytes.flat_map(|it| [it[0], it[1]]).collect(),
            Width::Four => bytes.flatten().collect(),
        };
        self.width = width;
    }

    /// A bit for each trace of the segment, from the lowest of each byte on, whose value is allowed:
    /// `allowed` is by the number of the value + 1, and first without one.
    pub(super) fn select(&self, allowed: &[bool], traces: usize) -> Vec<u8> {
        let is_allowed = |code: u32| allowed.get(code as usize).copied().unwrap_or(false);
        let absent = (0..traces).map(|_| 0);
        match self.width {
            Width::One => {
                let mut table = [false; 256];
                (0..)
                    .zip(&mut table)
                    .for_each(|(code, it)| *it = is_allowed(code));
                let codes = self.content.iter().map(|code| table[usize::from(*code)]);
                bits_of(codes.chain(absent.map(is_allowed)), traces)
            }
            Width::Two => {
                let codes = self.content.as_chunks::<2>().0.iter();
                let codes = codes.map(|code| u16::from_le_bytes(*code).into());
                bits_of(codes.chain(absent).map(is_allowed), traces)
            }
            Width::Four => {
                let codes = self.content.as_chunks::<4>().0.iter();
                let codes = codes.map(|code| u32::from_le_bytes(*code));
                bits_of(codes.chain(absent).map(is_allowed), traces)
            }
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.width as u8];
        out.extend(&self.content);
        let checksum = crc32fast::hash(&out);
        out.extend(checksum.to_le_bytes());
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, BlockError> {
        let wrong = |what: &str| BlockError(what.into());
        let (content, checksum) = bytes
            .split_last_chunk::<4>()
            .ok_or_else(|| wrong("too short"))?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(wrong("the checksum differs"));
        }
        let (width, content) = match content {
            [VERSION, 1, content @ ..] => (Width::One, content),
            [VERSION, 2, content @ ..] => (Width::Two, content),
            [VERSION, 4, content @ ..] => (Width::Four, content),
            _ => return Err(wrong("another version of columns")),
        };
        Ok(Self {
            width,
            content: content.to_vec(),
        })
    }
}

/// The first of these bits, as bytes of a whole segment.
fn bits_of(bits: impl Iterator<Item = bool>, count: usize) -> Vec<u8> {
    let mut bytes = vec![0_u8; SEGMENT as usize / 8];
    let mut bits = bits.take(count);
    for byte in &mut bytes {
        let mut any = 0;
        for (place, bit) in (0..8).zip(&mut bits) {
            any |= u8::from(bit) << place;
        }
        *byte = any;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_widens_and_comes_back() {
        let mut column = Column::default();
        let mut expected: Vec<Option<u32>> = Vec::new();
        for value in [3, 254, 255, 65_534, 65_535, 1 << 20] {
            let at = expected.len() + 2;
            column.extend(&[(at, value), (at + 1, 0)]);
            expected.resize(at, None);
            expected.extend([Some(value), Some(0)]);
            let back = Column::decode(&column.encode()).unwrap();
            assert_eq!(back, column);
            let found: Vec<Option<u32>> = (0..expected.len()).map(|it| back.get(it)).collect();
            assert_eq!(found, expected);
            assert_eq!(back.get(expected.len()), None);
        }
        assert!(Column::decode(&column.encode()[1..]).is_err());
    }

    #[test]
    fn traces_are_selected_in_each_width() {
        for most in [9, 300, 70_000] {
            let mut column = Column::default();
            column.extend(&[(0, 1), (1, most), (9, 1)]);
            let mut allowed = vec![false; most as usize + 2];
            allowed[2] = true;
            let bits = column.select(&allowed, 20);
            assert_eq!(bits[..3], [0b1, 0b10, 0]);
            allowed[0] = true;
            let bits = column.select(&allowed, 20);
            assert_eq!(bits[..3], [0b1111_1101, 0xff, 0b1111]);
            // A snapshot from before the last trace.
            assert_eq!(column.select(&allowed, 5)[..2], [0b1_1101, 0]);
        }
    }
}
