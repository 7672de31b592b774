//! The words of a command line, a script or a list that may be paths.

/// Returns each word that the text may hold, once: the text itself, the words that a shell
/// would make of it, whose blanks may be quoted, the entries of a list, and the pieces between
/// characters that rarely stand in a path.
pub(crate) fn words(text: &str) -> Vec<String> {
    let separates = |it: char| it.is_whitespace() || "'\"`=:;,&|()<>{}$".contains(it);
    let shell_words = shlex::split(text).unwrap_or_default();
    let whole = [text].into_iter().chain(text.split(':'));
    let whole = whole.chain(shell_words.iter().map(String::as_str));
    // As in `--file=/a b/c`.
    let whole = whole.flat_map(|word| [Some(word), word.split_once('=').map(|(_, it)| it)]);
    let mut words: Vec<String> = Vec::new();
    for word in whole.flatten().chain(text.split(separates)) {
        if !word.is_empty() && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_keep_the_blanks_that_a_shell_would_keep() {
        let has = |text: &str, word: &str| words(text).iter().any(|it| it == word);
        assert!(has("/my tree/run.sh", "/my tree/run.sh"));
        assert!(has("nice '/my tree/run.sh' -v", "/my tree/run.sh"));
        assert!(has(r"nice /my\ tree/run.sh>out", "/my tree/run.sh>out"));
        assert!(has("--file='/my tree/x'", "/my tree/x"));
        assert!(has("/my tree/bin:/usr/bin", "/my tree/bin"));
        assert!(has("cat<a.txt>b.txt", "a.txt"));
        assert!(has("it's /a/b", "/a/b"));
        assert_eq!(words("run.py"), ["run.py"]);
    }
}
