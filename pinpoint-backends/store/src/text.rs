//! Free text: the words of a job, and the words to search for.
//!
//! Databases disagree about the definition of a word, above all in paths and options, of which
//! command lines are made. So words are cut here, and the databases only compare them.

use std::collections::BTreeSet;

/// Longer words are cut: PostgreSQL takes up to 2,046 bytes.
const MAX_WORD_BYTES: usize = 100;

/// The most bytes of a job's words that are kept: PostgreSQL takes up to a megabyte.
const MAX_WORDS_BYTES: usize = 100_000;

/// The names of a job by which lists are filtered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Names<'a> {
    pub(super) name: &'a str,
    pub(super) benchmark: &'a str,
    pub(super) bot: &'a str,
    pub(super) user: &'a str,
}

impl<'a> Names<'a> {
    fn all(self) -> [(&'static str, &'a str); 4] {
        [
            ("name", self.name),
            ("benchmark", self.benchmark),
            ("bot", self.bot),
            ("user", self.user),
        ]
    }

    /// A word for each name, which no text has: it finds the jobs of that name among all that have
    /// a word. Two names may have the same.
    pub(super) fn tags(self) -> impl Iterator<Item = String> {
        let names = self.all().into_iter().filter(|(_, name)| !name.is_empty());
        names.map(|(what, name)| {
            // Letters that are part of no word, in place of characters that would
            // separate words.
            let name = name.chars().take(MAX_WORD_BYTES).map(|character| {
                match character.is_alphanumeric() {
                    true => character,
                    false => '＿',
                }
            });
            format!("{what}＝{}", name.collect::<String>())
        })
    }
}

/// The words of a job's names and other texts, in lower case, each except the last followed by a
/// space.
pub(super) fn words<'a>(names: Names<'a>, texts: impl IntoIterator<Item = &'a str>) -> String {
    let tags: BTreeSet<String> = names.tags().collect();
    let texts = names.all().map(|(_, name)| name).into_iter().chain(texts);
    // Each once, so that long command lines stay small.
    let mut words: BTreeSet<String> = texts.flat_map(cut).collect();
    let mut size: usize = 0;
    words.retain(|word| {
        size += word.len() + 1;
        size <= MAX_WORDS_BYTES
    });
    let words: Vec<String> = tags.into_iter().chain(words).collect();
    words.join(" ")
}

fn cut(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().chars().take(MAX_WORD_BYTES).collect())
}

/// A word that a job has to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SearchWord {
    pub(super) word: String,
    /// True if it matches any word with this beginning.
    pub(super) prefix: bool,
}

/// The words to look for: a `*` right after one makes it the beginning of a word.
pub(super) fn wanted(text: &str) -> Vec<SearchWord> {
    let mut wanted = Vec::new();
    for piece in text.split_whitespace() {
        let first = wanted.len();
        wanted.extend(cut(piece).map(|word| SearchWord {
            word,
            prefix: false,
        }));
        if let Some(last) = wanted[first..].last_mut() {
            last.prefix = piece.ends_with('*');
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_at_what_is_no_letter_or_digit() {
        let names = Names {
            bot: "M 1",
            ..Names::default()
        };
        let found = words(names, ["./Bench.sh --n=3", "crème-brûlée", "", "bench"]);
        assert_eq!(found, "bot＝M＿1 1 3 bench brûlée crème m n sh");
        assert_eq!(words(Names::default(), []), "");
    }

    #[test]
    fn a_star_behind_a_word_asks_for_its_beginning() {
        let list = |text: &str| -> Vec<(String, bool)> {
            let wanted = wanted(text).into_iter();
            wanted.map(|wanted| (wanted.word, wanted.prefix)).collect()
        };
        let of = |word: &str, prefix| (word.to_owned(), prefix);
        assert_eq!(
            list("Sort ben* v1.2*"),
            [
                of("sort", false),
                of("ben", true),
                of("v1", false),
                of("2", true)
            ]
        );
        assert_eq!(list(" * -- ' \" "), []);
    }
}
