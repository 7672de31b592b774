//! Tokens of formulas.

use super::error::{FormulaError, FormulaFault};
use crate::id::TraceId;

/// A token, and the column of its first character.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token<'a> {
    pub(super) column: usize,
    pub(super) kind: Kind<'a>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind<'a> {
    Name(&'a str),
    /// Without its quotation marks.
    Text(&'a str),
    Number(f64),
    Open,
    Close,
    Comma,
    /// The id of a trace, as names of calculated traces have it.
    Id(TraceId),
    End,
}

/// Reads tokens from left to right.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    column: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            column: 1,
        }
    }

    /// The next token. `as_argument`: where an argument begins, a comma is the first character of
    /// an id.
    pub(super) fn next(&mut self, as_argument: bool) -> Result<Token<'a>, FormulaError> {
        self.skip_whitespace();
        let column = self.column;
        let token = |kind| Ok(Token { column, kind });
        let Some(first) = self.rest.chars().next() else {
            return token(Kind::End);
        };
        if as_argument
            && first == ','
            && let Some(id) = id_at_start(self.rest)
        {
            self.take(id.as_str().len());
            return token(Kind::Id(id));
        }
        match first {
            '(' | ')' | ',' => {
                self.take(1);
                token(match first {
                    '(' => Kind::Open,
                    ')' => Kind::Close,
                    _ => Kind::Comma,
                })
            }
            '"' => {
                self.take(1);
                let Some(end) = self.rest.find('"') else {
                    return Err(FormulaError {
                        column,
                        fault: FormulaFault::OpenText,
                    });
                };
                let text = self.take(end);
                self.take(1);
                token(Kind::Text(text))
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
                token(Kind::Name(self.take_while(is_part)))
            }
            '0'..='9' | '.' | '+' | '-' => {
                let text = self.take_number();
                let fault = || FormulaFault::Number(text.to_owned());
                let number = number(text).ok_or_else(fault);
                number.map_or_else(
                    |fault| Err(FormulaError { column, fault }),
                    |it| token(Kind::Number(it)),
                )
            }
            other => Err(FormulaError {
                column,
                fault: FormulaFault::Unexpected {
                    expected: "a function, a text or a number",
                    found: format!("`{other}`"),
                },
            }),
        }
    }

    fn skip_whitespace(&mut self) {
        self.take_while(char::is_whitespace);
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|it| !is_part(it));
        self.take(end.unwrap_or(self.rest.len()))
    }

    /// Everything that looks like a part of a number, a sign behind an exponent too.
    fn take_number(&mut self) -> &'a str {
        let is_hexadecimal = self.rest.trim_start_matches(['+', '-']).starts_with("0x")
            || self.rest.trim_start_matches(['+', '-']).starts_with("0X");
        let mut before = ' ';
        let mut end = self.rest.len();
        for (at, it) in self.rest.char_indices() {
            let is_sign = matches!(it, '+' | '-');
            let is_after_exponent = matches!(before, 'e' | 'E') && !is_hexadecimal;
            let is_part = it.is_ascii_alphanumeric() || it == '.';
            if !(is_part || is_sign && (at == 0 || is_after_exponent)) {
                end = at;
                break;
            }
            before = it;
        }
        self.take(end)
    }

    /// Takes this many bytes, which end at a character.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.column += taken.chars().count();
        taken
    }
}

/// A finite number: sign, digits with a point, exponent; or sign, `0x` and hexadecimal digits.
fn number(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let hexadecimal = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"));
    let value = match hexadecimal {
        Some(digits) => {
            let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
            u64::from_str_radix(digits, 16).ok().filter(|_| is_number)? as f64
        }
        // `inf` and `nan` have no digit at the front.
        None => {
            let is_digit = |it: char| it.is_ascii_digit() || it == '.';
            digits
                .parse::<f64>()
                .ok()
                .filter(|_| digits.starts_with(is_digit))?
        }
    };
    value.is_finite().then_some(sign * value)
}

/// The id of a trace at the beginning of the text: as many pairs of key and value as follow each
/// other.
fn id_at_start(text: &str) -> Option<TraceId> {
    let mut end = 1;
    while let Some(rest) = text.get(end..) {
        let Some((pair, _)) = rest.split_once(',') else {
            break;
        };
        let is_part = |it: char| crate::id::is_kept(it) || it == '=';
        if !pair.contains('=') || !pair.chars().all(is_part) {
            break;
        }
        end += pair.len() + 1;
    }
    text.get(..end)?.parse().ok()
}
