//! Content hashes in the names of bundles that look like words.
//!
//! Rollup and Vite put eight characters before the ending, `index-DqLmxyzA.js` or
//! `index-C8_xQ-1z.js`: a single name does not distinguish them from a word. The profiles of two
//! builds do: each build has one such file, and the two differ.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashSet;

use super::{NameId, Profile, symbol};

/// The length of such a hash.
const HASH: usize = 8;

/// The names of bundles, without their hashes and with the endings.
#[derive(Default)]
pub(super) struct Bundles(BTreeSet<(String, String)>);

impl Bundles {
    /// The bundles of which each profile has one, and not all the same one.
    pub(super) fn from_profiles(profiles: &[&Profile]) -> Self {
        let mut all: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        let mut several = BTreeSet::new();
        for profile in profiles {
            let files: HashSet<NameId> = profile.frames.iter().map(|frame| frame.file).collect();
            let paths = files
                .iter()
                .map(|file| symbol::file(profile.names.get(*file)));
            let mut here: BTreeMap<(String, String), String> = BTreeMap::new();
            for path in paths {
                let Some((name, hash, ending)) = split(&path) else {
                    continue;
                };
                let key = (base(name).to_owned(), ending.to_owned());
                all.entry(key.clone()).or_default().insert(hash.to_owned());
                let first = here.entry(key.clone()).or_insert_with(|| hash.to_owned());
                if first != hash {
                    several.insert(key);
                }
            }
        }
        all.retain(|key, hashes| hashes.len() > 1 && !several.contains(key));
        Self(all.into_keys().collect())
    }

    /// The path without such a hash.
    pub(super) fn without_hash(&self, path: String) -> String {
        match split(&path) {
            Some((name, _, ending)) if self.has(name, ending) => format!("{name}{ending}"),
            _ => path,
        }
    }

    fn has(&self, name: &str, ending: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&(base(name).to_owned(), ending.to_owned()))
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `assets/index-C8_xQ-1z.js` in `assets/index`, the hash and `.js`; `None` where there is no room
/// for a hash.
fn split(path: &str) -> Option<(&str, &str, &str)> {
    let (stem, ending) = path.split_at(path.rfind('.')?);
    if !matches!(ending, ".js" | ".mjs" | ".cjs") {
        return None;
    }
    let (name, hash) = stem.split_at_checked(stem.len().checked_sub(HASH)?)?;
    let is_of_hash = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_hash =
        hash.bytes().all(is_of_hash) && hash.bytes().any(|byte| !byte.is_ascii_lowercase());
    let name = name.strip_suffix(['-', '.'])?;
    (is_hash && !base(name).is_empty()).then_some((name, hash, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundles(sides: [&str; 2]) -> Bundles {
        let read = |text: &str| Profile::read(text.as_bytes()).unwrap();
        let [base, experiment] = sides.map(read);
        Bundles::from_profiles(&[&base, &experiment])
    }

    #[test]
    fn hashes_that_look_like_words_are_told_by_both_builds() {
        let found = bundles([
            "f (http://localhost/assets/index-DqLmxyzA.js:1);g (/lazy-HomePage.js:1) 1\n",
            "f (http://localhost/assets/index-C8_xQ-1z.js:1);g (/lazy-HomePage.js:1) 1\n",
        ]);
        for path in ["assets/index-DqLmxyzA.js", "assets/index-C8_xQ-1z.js"] {
            assert_eq!(found.without_hash(path.into()), "assets/index.js");
        }
        for path in [
            "lazy-HomePage.js",
            "assets/index-renderer.js",
            "a.js",
            "é-abcdefgH.js",
            "",
        ] {
            assert_eq!(found.without_hash(path.into()), path);
        }
        // One build has both.
        let found = bundles([
            "f (/lazy-HomePage.js:1);g (/lazy-MainPage.js:1) 1\n",
            "f (/lazy-HomePage.js:1) 1\n",
        ]);
        assert_eq!(
            found.without_hash("lazy-HomePage.js".into()),
            "lazy-HomePage.js"
        );
    }
}
