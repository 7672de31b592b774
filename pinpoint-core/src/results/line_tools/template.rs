//! Templates of lines.
//!
//! ```text
//! Time per request: {value} [ms] (mean)
//! ```
//!
//! A template is a whole line without the blanks around it. A blank in it is any number of blanks,
//! and two blanks are at least two. Its parts in braces are:
//!
//! | part | text |
//! | --- | --- |
//! | `{value}` | a number |
//! | `{time}` | a duration with its unit, `12.5ms` or `1m2.5s`, or a clock, `0:01.25` |
//! | `{unit}`, `{unit?}` | a unit; the second may be missing |
//! | `{name}` | any text that does not begin with a brace |
//! | `{dots}` | a row of dots |
//! | `{mark}` | a mark of success or failure, which may be missing |
//! | `{}` | any text; at the end, and after a blank, it may be missing with the blank |

use std::fmt::Write;

use regex::Regex;

const NUMBER: &str = r"[-+]?(?:[0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?|(?i:nan|inf|infinity))";
const TIME: &str = r"(?:[0-9]+[dhm] ?)*[0-9]+(?:[.,][0-9]+)?(?:h|min|ms|us|µs|μs|ns|m|s)|[0-9]+(?::[0-9]+){1,2}(?:[.,][0-9]+)?";

/// The pattern of a template.
pub(super) fn pattern(template: &str) -> String {
    let mut pattern = "^".to_owned();
    let mut rest = template;
    while !rest.is_empty() {
        if rest == " {}" {
            pattern += r"(?:[ \t].*)?";
            break;
        }
        let part = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        if let Some((part, after)) = part {
            rest = after;
            // Writing to a string can't fail.
            let _ = match part {
                "" => write!(pattern, ".*?"),
                // The first of several is the one that is meant.
                "value" if pattern.contains("(?<value>") => write!(pattern, "(?:{NUMBER})"),
                "time" if pattern.contains("(?<time>") => write!(pattern, "(?:{TIME})"),
                "value" => write!(pattern, "(?<value>{NUMBER})"),
                "time" => write!(pattern, "(?<time>{TIME})"),
                "mark" => write!(pattern, r"(?:[✓✗][ \t]+)?"),
                "unit" => write!(pattern, "(?<unit>[A-Za-zµμ%][A-Za-zµμ/]*)"),
                "unit?" => write!(pattern, "(?<unit>[A-Za-zµμ%/]*)"),
                "name" => write!(pattern, r"(?<name>[^{{\s](?:.*?\S)?)"),
                "dots" => write!(pattern, r"\.+"),
                // A misspelled part is an invalid pattern, which the tests find.
                other => write!(pattern, "(?<{other}"),
            };
            continue;
        }
        let length = rest.find([' ', '{']).unwrap_or(rest.len());
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        match blanks {
            0 => pattern += &regex::escape(&rest[..length.max(1)]),
            1 => pattern += r"[ \t]+",
            _ => pattern += r"[ \t]{2,}",
        }
        rest = &rest[blanks.max(length).max(1)..];
    }
    pattern + "$"
}

/// The longest text without a blank that is in each line of a template; `None` if it has only parts.
pub(super) fn longest_word(template: &str) -> Option<&str> {
    let fixed = (template.split('{')).map(|it| it.split_once('}').map_or(it, |(_, after)| after));
    let words = fixed
        .flat_map(|it| it.split(' '))
        .filter(|it| !it.is_empty());
    words.max_by_key(|word| word.len())
}

pub(super) fn compile(template: &str) -> Option<Regex> {
    Regex::new(&pattern(template)).ok()
}

/// Returns true if no more of a value or a name can follow a line that is cut off after it.
pub(super) fn has_fixed_end(template: &str) -> bool {
    !template.ends_with('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_in_a_line() {
        for (template, line, part, expected) in [
            ("a b: {value} x", "a   b:\t1.5 x", "value", Some("1.5")),
            ("a: {value}", "a: 1.5 x", "value", None),
            ("a: {value} {}", "a: 1.5", "value", Some("1.5")),
            ("a: {value} {}", "a: 1.5 and more", "value", Some("1.5")),
            ("a: {value} {}", "a: 1.5ms", "value", None),
            ("a: {value}{unit} {}", "a: 1.5KB 7", "unit", Some("KB")),
            ("a: {value}{unit?}, {}", "a: 15, 7", "unit", Some("")),
            ("a={time} {}", "a=1m2.5s b=3ms", "time", Some("1m2.5s")),
            ("a={time} {}", "a=0:01.25", "time", Some("0:01.25")),
            ("a={time} {}", "a=12", "time", None),
            ("{name}  error: {}", "a b   error: c", "name", Some("a b")),
            ("{name}  error: {}", "a b error: c", "name", None),
            ("{name}{dots}: {value}", "a_b...: 5", "name", Some("a_b")),
            ("{name}: {value}", "{ a: 5", "name", None),
            ("{value} [#/sec] (x)", "5 [#/sec] (x)", "value", Some("5")),
            ("{value} ms", "NaN ms", "value", Some("NaN")),
            ("{value} and {value}", "5 and 6", "value", Some("5")),
            ("{mark}{name}: {value}", "✗ a: 5", "name", Some("a")),
        ] {
            let pattern = compile(template).expect("it is valid");
            let found = pattern.captures(line);
            let found = found.and_then(|it| Some(it.name(part)?.as_str()));
            assert_eq!(found, expected, "{template} in {line}");
        }
    }

    #[test]
    fn the_longest_word_is_of_the_fixed_text() {
        for (template, word) in [
            ("{mark}{name}{dots}: avg={} p9={} {}", Some("avg=")),
            ("real {time}", Some("real")),
            ("{}: {value}", Some(":")),
            ("{name} {value}", None),
        ] {
            assert_eq!(longest_word(template), word, "{template}");
        }
    }

    #[test]
    fn a_misspelled_part_is_invalid() {
        assert!(compile("a: {vlaue}").is_none());
    }
}
