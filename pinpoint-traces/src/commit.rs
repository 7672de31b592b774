//! Commit numbers, and the tiles that hold them.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The number of points in a tile of any scale.
pub const TILE_SIZE: u32 = 128;

/// The coarsest scale.
pub const MAX_SCALE: u8 = 5;

/// The number of a commit: its index on the first-parent line, from 0, or a position that the
/// project itself counts.
///
/// Written in decimal, and read as that or as `CP:<n>`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CommitNumber(pub u32);

impl CommitNumber {
    /// The tile of scale 0 that holds this commit.
    pub fn tile(self) -> Tile {
        Tile {
            number: self.0 / TILE_SIZE,
            scale: 0,
        }
    }

    /// The index of this commit in its tile of scale 0, below [`TILE_SIZE`].
    pub fn index_in_tile(self) -> usize {
        (self.0 % TILE_SIZE) as usize
    }
}

impl fmt::Display for CommitNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for CommitNumber {
    type Err = CommitError;

    fn from_str(text: &str) -> Result<Self, CommitError> {
        let digits = text.strip_prefix("CP:").unwrap_or(text);
        let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
        match digits.parse() {
            Ok(number) if is_number => Ok(Self(number)),
            _ => Err(CommitError::Number(text.to_owned())),
        }
    }
}

/// A run of [`TILE_SIZE`] points, each of which stands for 4^scale commits.
///
/// Tile t of scale s has the commits 128·4^s·t to 128·4^s·(t+1) − 1. A point's value is the last
/// one present among its commits.
///
/// ```
/// use pinpoint_traces::{CommitNumber, Tile};
///
/// let tile = CommitNumber(300).tile();
/// assert_eq!((tile.number(), tile.scale()), (2, 0));
/// assert_eq!(tile.commits(), CommitNumber(256)..=CommitNumber(383));
/// let coarser = tile.coarser().unwrap();
/// assert_eq!((coarser.number(), coarser.scale()), (0, 1));
/// assert_eq!(coarser.commits(), CommitNumber(0)..=CommitNumber(511));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "TileFields", into = "TileFields")]
pub struct Tile {
    scale: u8,
    number: u32,
}

/// A tile as it is stored, before it is checked.
#[derive(Serialize, Deserialize)]
struct TileFields {
    number: u32,
    scale: u8,
}

impl Tile {
    /// The tile of this number and scale.
    ///
    /// # Errors
    ///
    /// [`CommitError::Scale`] above [`MAX_SCALE`]; [`CommitError::Tile`] for a tile that begins
    /// after the last number that a commit can have.
    pub fn new(number: u32, scale: u8) -> Result<Self, CommitError> {
        if scale > MAX_SCALE {
            return Err(CommitError::Scale(scale));
        }
        if u64::from(number) * Self::commits_per_tile(scale) > u64::from(u32::MAX) {
            return Err(CommitError::Tile { number, scale });
        }
        Ok(Self { number, scale })
    }

    /// The tile of this scale that holds a commit.
    ///
    /// # Errors
    ///
    /// [`CommitError::Scale`] above [`MAX_SCALE`].
    pub fn of(commit: CommitNumber, scale: u8) -> Result<Self, CommitError> {
        if scale > MAX_SCALE {
            return Err(CommitError::Scale(scale));
        }
        Ok(Self {
            number: commit.0 / (TILE_SIZE << (2 * scale)),
            scale,
        })
    }

    /// The number, counted from 0.
    pub fn number(self) -> u32 {
        self.number
    }

    /// The scale, at most [`MAX_SCALE`].
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// The number of commits of one point: 4^scale.
    pub fn commits_per_point(self) -> u32 {
        1 << (2 * self.scale)
    }

    /// The first commit.
    pub fn first(self) -> CommitNumber {
        clipped(u64::from(self.number) * Self::commits_per_tile(self.scale))
    }

    /// The last commit, whether it exists yet or not.
    pub fn last(self) -> CommitNumber {
        clipped((u64::from(self.number) + 1) * Self::commits_per_tile(self.scale) - 1)
    }

    /// All commits, whether they exist yet or not.
    pub fn commits(self) -> RangeInclusive<CommitNumber> {
        self.first()..=self.last()
    }

    /// Returns true if this tile holds the commit.
    pub fn contains(self, commit: CommitNumber) -> bool {
        self.commits().contains(&commit)
    }

    /// The point of a commit, below [`TILE_SIZE`]; `None` for a commit of another tile.
    pub fn point_of(self, commit: CommitNumber) -> Option<usize> {
        self.contains(commit)
            .then(|| ((commit.0 - self.first().0) / self.commits_per_point()) as usize)
    }

    /// The commits of a point; `None` from [`TILE_SIZE`] on.
    pub fn commits_of_point(self, point: usize) -> Option<RangeInclusive<CommitNumber>> {
        let point = u64::try_from(point).ok()?;
        if point >= u64::from(TILE_SIZE) {
            return None;
        }
        let width = u64::from(self.commits_per_point());
        let first = u64::from(self.number) * Self::commits_per_tile(self.scale) + point * width;
        Some(clipped(first)..=clipped(first + width - 1))
    }

    /// The tile one scale out, ⌊number / 4⌋; `None` at [`MAX_SCALE`].
    pub fn coarser(self) -> Option<Self> {
        (self.scale < MAX_SCALE).then(|| Self {
            number: self.number / 4,
            scale: self.scale + 1,
        })
    }

    /// The four tiles one scale in, 4·number to 4·number + 3; `None` at scale 0.
    pub fn finer(self) -> Option<[Self; 4]> {
        let scale = self.scale.checked_sub(1)?;
        Some([0, 1, 2, 3].map(|offset| Self {
            number: self.number * 4 + offset,
            scale,
        }))
    }

    /// The tile after this one; `None` after the last.
    pub fn next(self) -> Option<Self> {
        Self::new(self.number.checked_add(1)?, self.scale).ok()
    }

    /// The tiles of this scale that hold the commits of a range, ascending.
    ///
    /// # Errors
    ///
    /// [`CommitError::Scale`] above [`MAX_SCALE`].
    pub fn covering(
        commits: RangeInclusive<CommitNumber>,
        scale: u8,
    ) -> Result<impl Iterator<Item = Self>, CommitError> {
        let first = Self::of(*commits.start(), scale)?.number;
        let last = Self::of(*commits.end(), scale)?.number;
        let count = if commits.is_empty() {
            0
        } else {
            last - first + 1
        };
        Ok((0..count).map(move |index| Self {
            number: first + index,
            scale,
        }))
    }

    fn commits_per_tile(scale: u8) -> u64 {
        u64::from(TILE_SIZE) << (2 * scale)
    }
}

fn clipped(commit: u64) -> CommitNumber {
    CommitNumber(u32::try_from(commit).unwrap_or(u32::MAX))
}

impl TryFrom<TileFields> for Tile {
    type Error = CommitError;

    fn try_from(fields: TileFields) -> Result<Self, CommitError> {
        Self::new(fields.number, fields.scale)
    }
}

impl From<Tile> for TileFields {
    fn from(tile: Tile) -> Self {
        Self {
            number: tile.number,
            scale: tile.scale,
        }
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "tile {} of scale {}", self.number, self.scale)
    }
}

/// Values one scale out: of each four, the last one present (NaN is missing). A last group may be
/// shorter.
///
/// The values must begin at a point whose number is a multiple of four. Applied s times to the
/// values of scale 0 it gives those of scale s.
pub fn coarser_values(values: &[f64]) -> Vec<f64> {
    let last_present = |group: &[f64]| {
        let mut present = group.iter().rev().copied().filter(|it| !it.is_nan());
        present.next().unwrap_or(f64::NAN)
    };
    values.chunks(4).map(last_present).collect()
}

/// A commit number or tile that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The text is not a number.
    #[error("`{0}` is not the number of a commit: expected `123` or `CP:123`, at most 4294967295")]
    Number(String),
    /// The scale is too large.
    #[error("there is no scale {0}: scales are 0 to 5")]
    Scale(u8),
    /// No commit can be in the tile.
    #[error("there is no tile {number} of scale {scale}: commit numbers end at 4294967295")]
    Tile {
        /// Its number.
        number: u32,
        /// Its scale.
        scale: u8,
    },
}
