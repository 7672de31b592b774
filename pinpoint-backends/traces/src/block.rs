//! Blocks of values: up to [`ROWS`] traces over one tile, with the source of every value.
//!
//! A block is read as a whole, so its size is a choice: a query that matches few traces of many
//! reads more than it asks for where blocks are large, and small blocks compress badly.
//!
//! ```text
//! version    1 byte
//! rows       4 bytes, one bit for each trace that has values, little-endian as all that follows
//! commits    for each row: 0 as in the row before, 1 all of the tile, 2 and 16 bytes with a bit each
//! scales     for each row: the decimal exponent + 64, or 0 for binary; the bits of the base that are
//!            left out; the base without them, LEB128
//! decimal    length as LEB128 and pco: what each number of the decimal rows has above the base
//! binary     the same of the binary rows
//! sources    the same of the sources' numbers, commit by commit
//! checksum   4 bytes, CRC-32 of all before
//! ```
//!
//! **Decimal rows.** What tools write has few digits. Where every value of a row is n · 10^e for
//! integers n below 2^53, as the quotient or product of two numbers that are exact, n is stored:
//! the division is correctly rounded, so the same bits come back, and the encoder has tried each
//! (the idea of ALP: Afroozeh, Kuffo, Boncz, SIGMOD 2023). All other rows keep their bits, in an
//! order that follows that of the numbers.
//!
//! **The base** of a row is its smallest number, rounded down. All rows then have much the same
//! distribution, which pco describes once for all; the digits that rounding saves are an eighth of a
//! byte for each value of a row with 64.

use pco::data_types::Number;
use pco::{ChunkConfig, DeltaSpec, ModeSpec};

use super::bytes::{Reader, put_number};

/// The number of traces in a block.
pub(crate) const ROWS: usize = 32;

/// The number of commits in a tile.
pub(crate) const COMMITS: usize = 128;

/// The bits of a base below the largest remainder that are stored.
const BASE_BITS: u32 = 8;

/// Higher ones take longer, and save less than 1 %.
const LEVEL: usize = 6;

const VERSION: u8 = 1;

/// The values of one trace in one tile.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BlockRow {
    /// A bit for each commit of the tile that has a value.
    pub(crate) commits: u128,
    /// The values, by commit.
    pub(crate) values: Vec<f64>,
    /// The numbers of their sources.
    pub(crate) sources: Vec<u32>,
}

impl BlockRow {
    /// The offsets of the commits with values, ascending.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = usize> + use<> {
        let mut rest = self.commits;
        std::iter::from_fn(move || {
            let next = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(next)
        })
    }
}

/// The traces of a block, by their offset in it. A trace without values has an empty row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub(crate) rows: Vec<BlockRow>,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            rows: vec![BlockRow::default(); ROWS],
        }
    }
}

/// A block is not in the form that this program writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BlockError(pub(crate) String);

fn wrong(what: impl Into<String>) -> BlockError {
    BlockError(what.into())
}

/// Powers of ten that are exact.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
const EXACT: f64 = 9_007_199_254_740_992.0;
const EXPONENT_BIAS: i32 = 64;

fn from_decimal(number: i64, exponent: i32) -> f64 {
    let power = POWERS.get(exponent.unsigned_abs() as usize);
    let power = power.copied().unwrap_or(f64::NAN);
    match exponent < 0 {
        true => number as f64 / power,
        false => number as f64 * power,
    }
}

fn to_decimal(value: f64, exponent: i32) -> Option<i64> {
    let power = POWERS[exponent.unsigned_abs() as usize];
    let number = match exponent < 0 {
        true => (value * power).round(),
        false => (value / power).round(),
    };
    let is_exact = number.abs() < EXACT;
    let number = is_exact.then_some(number as i64)?;
    (from_decimal(number, exponent).to_bits() == value.to_bits()).then_some(number)
}

/// The exponent and the numbers of a row, if it has any: those with the fewest digits.
fn decimal(values: &[f64]) -> Option<(i32, Vec<i64>)> {
    let mut exponent = 0;
    for value in values {
        while to_decimal(*value, exponent).is_none() {
            exponent -= 1;
            if exponent < -22 {
                return None;
            }
        }
    }
    if exponent == 0 {
        let all = |exponent| values.iter().all(|it| to_decimal(*it, exponent).is_some());
        while exponent < 15 && all(exponent + 1) {
            exponent += 1;
        }
    }
    let numbers: Option<Vec<i64>> = values.iter().map(|it| to_decimal(*it, exponent)).collect();
    Some((exponent, numbers?))
}

/// The bits in an order that follows that of the numbers.
fn ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

fn from_ordered(bits: u64) -> f64 {
    f64::from_bits(match bits >> 63 {
        0 => !bits,
        _ => bits & !(1 << 63),
    })
}

fn ordered_integer(number: i64) -> u64 {
    number.cast_unsigned() ^ 1 << 63
}

fn from_ordered_integer(number: u64) -> i64 {
    (number ^ 1 << 63).cast_signed()
}

impl Block {
    /// The block as it is stored.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, BlockError> {
        let mut out = vec![VERSION];
        let rows = self.rows.iter().enumerate();
        let rows: Vec<_> = rows.filter(|(_, row)| row.commits != 0).collect();
        let bits = rows.iter().fold(0_u32, |bits, (at, _)| bits | 1 << at);
        out.extend(bits.to_le_bytes());
        let mut before = 0;
        for (_, row) in &rows {
            match row.commits {
                same if same == before => out.push(0),
                u128::MAX => out.push(1),
                some => {
                    out.push(2);
                    out.extend(some.to_le_bytes());
                }
            }
            before = row.commits;
        }
        let (mut decimals, mut binaries) = (Vec::new(), Vec::new());
        for (_, row) in &rows {
            let (scale, numbers, stream) = match decimal(&row.values) {
                Some((exponent, numbers)) => {
                    let numbers: Vec<u64> = numbers.into_iter().map(ordered_integer).collect();
                    let scale = u8::try_from(exponent + EXPONENT_BIAS).unwrap_or(0);
                    (scale, numbers, &mut decimals)
                }
                None => (
                    0,
                    row.values.iter().copied().map(ordered).collect(),
                    &mut binaries,
                ),
            };
            let least = numbers.iter().copied().min().unwrap_or(0);
            let most = numbers.iter().copied().max().unwrap_or(0) - least;
            let left_out = (u64::BITS - most.leading_zeros()).saturating_sub(BASE_BITS);
            let base = least >> left_out;
            out.push(scale);
            out.push(left_out.to_le_bytes()[0]);
            put_number(&mut out, base);
            stream.extend(
                numbers
                    .into_iter()
                    .map(|number| number - (base << left_out)),
            );
        }
        let mut sources = Vec::new();
        for commit in 0..COMMITS {
            let bit = 1_u128 << commit;
            for (_, row) in rows.iter().filter(|(_, row)| row.commits & bit != 0) {
                let at = (row.commits & (bit - 1)).count_ones() as usize;
                let source = row.sources.get(at);
                sources.push(*source.ok_or_else(|| wrong("a value without a source"))?);
            }
        }
        let plain = ChunkConfig::default()
            .with_compression_level(LEVEL)
            .with_mode_spec(ModeSpec::Classic)
            .with_delta_spec(DeltaSpec::NoOp);
        put_stream(&mut out, &decimals, &plain)?;
        put_stream(&mut out, &binaries, &plain)?;
        let differences = plain.with_delta_spec(DeltaSpec::TryConsecutive(1));
        put_stream(&mut out, &sources, &differences)?;
        let checksum = crc32fast::hash(&out);
        out.extend(checksum.to_le_bytes());
        Ok(out)
    }

    /// Reads what [`Self::encode`] wrote.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, BlockError> {
        let (content, checksum) = bytes
            .split_last_chunk::<4>()
            .ok_or_else(|| wrong("too short"))?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(wrong("the checksum differs"));
        }
        let mut reader = Reader::new(content);
        let cut = || wrong("cut off");
        match reader.byte().ok_or_else(cut)? {
            VERSION => {}
            version => return Err(wrong(format!("version {version} of blocks"))),
        }
        let bits = u32::from_le_bytes(reader.array().ok_or_else(cut)?);
        let mut block = Self::default();
        let mut before = 0;
        let is_there = |at: usize| bits & 1 << at != 0;
        for row in in_block(&mut block.rows, is_there) {
            row.commits = match reader.byte().ok_or_else(cut)? {
                0 => before,
                1 => u128::MAX,
                _ => u128::from_le_bytes(reader.array().ok_or_else(cut)?),
            };
            before = row.commits;
        }
        let mut scales = Vec::with_capacity(ROWS);
        for _ in 0..bits.count_ones() {
            let [scale, left_out] = reader.array().ok_or_else(cut)?;
            let base = reader.number().ok_or_else(cut)?;
            scales.push((scale, base.unbounded_shl(left_out.into())));
        }
        let decimals: Vec<u64> = take_stream(&mut reader)?;
        let binaries: Vec<u64> = take_stream(&mut reader)?;
        let sources: Vec<u32> = take_stream(&mut reader)?;
        let (mut decimals, mut binaries) = (decimals.as_slice(), binaries.as_slice());
        for (row, (scale, base)) in in_block(&mut block.rows, is_there).zip(scales) {
            let count = row.commits.count_ones() as usize;
            let stream = match scale {
                0 => &mut binaries,
                _ => &mut decimals,
            };
            let (of_row, rest) = stream.split_at_checked(count).ok_or_else(cut)?;
            *stream = rest;
            let numbers = of_row.iter().map(|number| number.wrapping_add(base));
            row.values = match scale {
                0 => numbers.map(from_ordered).collect(),
                _ => {
                    let exponent = i32::from(scale) - EXPONENT_BIAS;
                    let numbers = numbers.map(from_ordered_integer);
                    numbers
                        .map(|number| from_decimal(number, exponent))
                        .collect()
                }
            };
            row.sources = Vec::with_capacity(count);
        }
        let mut sources = sources.into_iter();
        for commit in 0..COMMITS {
            let bit = 1_u128 << commit;
            for row in block.rows.iter_mut().filter(|row| row.commits & bit != 0) {
                row.sources.push(sources.next().ok_or_else(cut)?);
            }
        }
        Ok(block)
    }
}

fn in_block(
    rows: &mut [BlockRow],
    is_there: impl Fn(usize) -> bool,
) -> impl Iterator<Item = &mut BlockRow> {
    let rows = rows.iter_mut().enumerate();
    rows.filter(move |(at, _)| is_there(*at))
        .map(|(_, row)| row)
}

fn put_stream<T: Number>(
    out: &mut Vec<u8>,
    numbers: &[T],
    config: &ChunkConfig,
) -> Result<(), BlockError> {
    let bytes = match numbers.is_empty() {
        true => Vec::new(),
        false => pco::standalone::simple_compress(numbers, config)
            .map_err(|error| wrong(error.to_string()))?,
    };
    put_number(out, bytes.len() as u64);
    out.extend(bytes);
    Ok(())
}

fn take_stream<T: Number>(reader: &mut Reader<'_>) -> Result<Vec<T>, BlockError> {
    let length = reader
        .number()
        .and_then(|length| usize::try_from(length).ok());
    let bytes = length.and_then(|length| reader.slice(length));
    match bytes.ok_or_else(|| wrong("cut off"))? {
        [] => Ok(Vec::new()),
        bytes => {
            pco::standalone::simple_decompress(bytes).map_err(|error| wrong(error.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_value() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            (-99_999..99_999_i32, 0..8_usize).prop_map(|(it, at)| f64::from(it) / POWERS[at]),
            (-99_999..99_999_i32, 0..22_usize).prop_map(|(it, at)| f64::from(it) * POWERS[at]),
            Just(-0.0),
        ]
    }

    fn any_row() -> impl Strategy<Value = BlockRow> {
        let commits = prop_oneof![Just(0), Just(u128::MAX), Just(0b1011), any::<u128>()];
        let values = prop::collection::vec(any_value(), COMMITS);
        let sources = prop::collection::vec(prop_oneof![0..4_u32, any::<u32>()], COMMITS);
        (commits, values, sources).prop_map(|(commits, mut values, mut sources)| {
            let count = commits.count_ones() as usize;
            values.truncate(count);
            sources.truncate(count);
            BlockRow {
                commits,
                values,
                sources,
            }
        })
    }

    proptest! {
        #[test]
        fn a_block_comes_back_bit_for_bit(rows in prop::collection::vec(any_row(), ROWS)) {
            let block = Block { rows };
            let back = Block::decode(&block.encode().unwrap()).unwrap();
            for (a, b) in block.rows.iter().zip(&back.rows) {
                prop_assert_eq!(a.commits, b.commits);
                prop_assert_eq!(&a.sources, &b.sources);
                let bits = |row: &BlockRow| row.values.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
                prop_assert_eq!(bits(a), bits(b));
            }
        }

        /// Even where the checksum is right.
        #[test]
        fn a_damaged_block_is_an_error_or_another_block(
            row in any_row(), at in any::<prop::sample::Index>(), byte: u8, cut: bool,
        ) {
            let mut block = Block::default();
            block.rows[3] = row;
            let mut bytes = block.encode().unwrap();
            let at = at.index(bytes.len() - 4);
            bytes[at] ^= byte;
            if byte != 0 {
                prop_assert!(Block::decode(&bytes).is_err());
            }
            bytes.truncate(if cut { at } else { bytes.len() - 4 });
            let checksum = crc32fast::hash(&bytes);
            bytes.extend(checksum.to_le_bytes());
            // It does not panic.
            let _ = Block::decode(&bytes);
        }
    }

    /// A block of a made-up shape: values near a level of each row.
    fn made(value: impl Fn(u64, f64) -> f64) -> Block {
        let mut state = 88_172_645_463_325_252_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut block = Block::default();
        for row in &mut block.rows {
            row.commits = u128::from(next()) << 64 | u128::from(next());
            let level = (next() % 100_000) as f64 + 1.0;
            for _ in 0..row.commits.count_ones() {
                row.values.push(value(next(), level));
                row.sources.push(7);
            }
        }
        block
    }

    #[test]
    fn values_take_few_bytes() {
        let unit = |random: u64| (random >> 11) as f64 / (1_u64 << 53) as f64;
        let per_value = |block: &Block| {
            let count: usize = block.rows.iter().map(|row| row.values.len()).sum();
            block.encode().unwrap().len() as f64 / count as f64
        };
        let five_digits = made(|random, _| (random % 100_000) as f64 / 1000.0);
        assert!(per_value(&five_digits) < 2.8, "{}", per_value(&five_digits));
        let full = made(|random, level| level * (1.0 + 0.02 * unit(random)));
        assert!(per_value(&full) < 6.5, "{}", per_value(&full));
    }
}
