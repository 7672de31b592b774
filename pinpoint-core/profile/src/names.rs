//! Strings, each kept once.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// The longest name that is kept whole; a longer one is cut off.
const MAX_NAME_BYTES: usize = 16 << 10;

/// All names of a profile together.
const MOST_BYTES: usize = 1 << 30;

/// A string in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NameId(pub(super) u32);

impl NameId {
    /// The empty string.
    pub const EMPTY: Self = Self(0);
}

/// Strings, each kept once, in one piece of memory.
///
/// Names are found by their hash, which is seeded anew in every process, so that no file
/// can be made to collide; nothing depends on the order of the table.
#[derive(Clone)]
pub struct Names {
    text: String,
    ends: Vec<u32>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Self {
            text: String::new(),
            ends: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        };
        names.intern("");
        names
    }
}

impl Names {
    /// The id of a name, which is the same for equal names. `None` when there is no
    /// room for another one.
    pub fn intern(&mut self, name: &str) -> Option<NameId> {
        let name = name
            .get(..name.floor_char_boundary(MAX_NAME_BYTES))
            .unwrap_or(name);
        let hash = self.hasher.hash_one(name);
        if let Some(&id) = self.index.find(hash, |&id| self.get(NameId(id)) == name) {
            return Some(NameId(id));
        }
        if self.text.len() + name.len() > MOST_BYTES {
            return None;
        }
        let id = u32::try_from(self.ends.len()).ok()?;
        self.text.push_str(name);
        self.ends.push(u32::try_from(self.text.len()).ok()?);
        let Self {
            text,
            ends,
            index,
            hasher,
        } = self;
        index.insert_unique(hash, id, |&id| hasher.hash_one(slice(text, ends, id)));
        Some(NameId(id))
    }

    /// The string; empty for an id of other names.
    pub fn get(&self, id: NameId) -> &str {
        slice(&self.text, &self.ends, id.0)
    }
}

fn slice<'a>(text: &'a str, ends: &[u32], id: u32) -> &'a str {
    let id = id as usize;
    let start = id
        .checked_sub(1)
        .and_then(|before| ends.get(before))
        .copied();
    ends.get(id)
        .and_then(|end| text.get(start.unwrap_or(0) as usize..*end as usize))
        .unwrap_or_default()
}

impl std::fmt::Debug for Names {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Names({})", self.ends.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_one_id() {
        let mut names = Names::default();
        let ids: Vec<_> = ["a", "", "b", "a"].map(|name| names.intern(name)).into();
        assert_eq!(ids[0], ids[3]);
        assert_eq!(ids[1], Some(NameId::EMPTY));
        assert_eq!(names.get(ids[2].unwrap()), "b");
        assert_eq!(names.get(NameId(99)), "");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let mut names = Names::default();
        let id = names.intern(&"€".repeat(MAX_NAME_BYTES)).unwrap();
        assert_eq!(names.get(id).len(), MAX_NAME_BYTES - MAX_NAME_BYTES % 3);
    }
}
