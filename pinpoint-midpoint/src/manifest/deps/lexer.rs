//! The tokens of Python that `DEPS` uses.
//!
//! Rules and names are those of "Lexical analysis" in the Python Language
//! Reference (<https://docs.python.org/3/reference/lexical_analysis.html>).

use std::borrow::Cow;

use super::fault::Fault;

/// The smallest piece with a meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// An identifier or keyword.
    Name(&'a str),
    /// One string literal, its escapes resolved.
    String(Cow<'a, str>),
    /// An integer literal.
    Integer(i64),
    /// An operator or delimiter: `(`, `==`.
    Symbol(&'static str),
    /// The end of a logical line.
    Newline,
    /// The end of the text.
    End,
}

/// The frequent ones first, which no other begins with; then longer ones before shorter ones, so
/// that the first that fits is the right one. The parser rejects unsupported ones, and can name
/// them because they are listed.
const SYMBOLS: [&str; 46] = [
    "(", ")", "[", "]", "{", "}", ",", ";", "**=", "//=", ">>=", "<<=", "...", "==", "!=", "<=",
    ">=", "->", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "**", "//", "<<", ">>",
    ":", ".", "=", "+", "-", "*", "/", "%", "@", "&", "|", "^", "~", "<",
];

/// Splits a text into tokens from left to right.
pub(super) struct Lexer<'a> {
    text: &'a str,
    offset: usize,
    /// The number of open brackets: inside of them, line ends are ignored.
    depth: usize,
    at_line_start: bool,
}

impl<'a> Lexer<'a> {
    /// Reads a whole file.
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            // A byte order mark at the start is not part of the text.
            offset: if text.starts_with('\u{feff}') { 3 } else { 0 },
            depth: 0,
            at_line_start: true,
        }
    }

    /// Reads one expression, in which line ends are ignored.
    pub(super) fn of_expression(text: &'a str) -> Self {
        Self {
            text,
            offset: 0,
            depth: 1,
            at_line_start: false,
        }
    }

    /// The next token and its offset.
    pub(super) fn next(&mut self) -> Result<(usize, Token<'a>), Fault> {
        let indented = self.skip_blanks()?;
        let start = self.offset;
        let Some(first) = self.rest().chars().next() else {
            return Ok((start, Token::End));
        };
        if matches!(first, '\n' | '\r') {
            self.skip_line_end();
            self.at_line_start = true;
            return Ok((start, Token::Newline));
        }
        if indented {
            return Err(Fault::syntax(start, "a statement may not be indented here"));
        }
        self.at_line_start = false;
        let token = match first {
            '\'' | '"' => Token::String(self.string(start, false)?),
            '0'..='9' => self.integer()?,
            'a'..='z' | 'A'..='Z' | '_' => self.name_or_string()?,
            _ => self.symbol(first)?,
        };
        Ok((start, token))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    fn skip_line_end(&mut self) {
        self.offset += if self.rest().starts_with("\r\n") {
            2
        } else {
            1
        };
    }

    /// Skips blanks, comments, empty lines, and ignored line ends. Returns true if the next token
    /// is wrongly indented.
    fn skip_blanks(&mut self) -> Result<bool, Fault> {
        let mut indented = false;
        loop {
            let rest = self.rest();
            match rest.bytes().next() {
                Some(b' ' | b'\t') => {
                    indented |= self.at_line_start;
                    self.offset += 1;
                }
                Some(b'\x0c') => {
                    indented = false;
                    self.offset += 1;
                }
                Some(b'#') => self.offset += rest.find(['\n', '\r']).unwrap_or(rest.len()),
                Some(b'\n' | b'\r') if self.depth > 0 || self.at_line_start => {
                    indented = false;
                    self.skip_line_end();
                }
                Some(b'\\') => {
                    self.offset += 1;
                    if !self.rest().starts_with(['\n', '\r']) {
                        return Err(Fault::syntax(
                            self.offset - 1,
                            "only the end of a line may follow a backslash",
                        ));
                    }
                    self.skip_line_end();
                }
                _ => return Ok(indented),
            }
        }
    }

    fn symbol(&mut self, first: char) -> Result<Token<'a>, Fault> {
        let rest = self.rest();
        let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) else {
            return Err(match first {
                '>' => Fault::unsupported(self.offset, "the operator `>`"),
                first if first.is_alphabetic() => {
                    Fault::unsupported(self.offset, "a name with letters outside of ASCII")
                }
                first => Fault::syntax(self.offset, format!("`{first}` has no meaning here")),
            });
        };
        match symbol {
            "(" | "[" | "{" => self.depth += 1,
            // The parser rejects an unmatched one.
            ")" | "]" | "}" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.offset += symbol.len();
        Ok(Token::Symbol(symbol))
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        self.offset += length;
        &rest[..length]
    }

    fn integer(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.offset;
        let word = self.word();
        if self.rest().starts_with('.')
            || word.contains(['e', 'E', 'j', 'J']) && !word.starts_with("0x")
        {
            return Err(Fault::unsupported(start, "a number that is not an integer"));
        }
        let (digits, radix) = match word.as_bytes() {
            [b'0', b'x' | b'X', ..] => (&word[2..], 16),
            [b'0', b'o' | b'O', ..] => (&word[2..], 8),
            [b'0', b'b' | b'B', ..] => (&word[2..], 2),
            _ => (word, 10),
        };
        // Underscores are between digits, or after the letter of the radix.
        let spaced = digits
            .strip_prefix('_')
            .filter(|_| radix != 10)
            .unwrap_or(digits);
        let grouped = spaced
            .split('_')
            .all(|group| !group.is_empty() && group.chars().all(|digit| digit.is_digit(radix)));
        let zeros_first =
            radix == 10 && digits.starts_with('0') && digits.contains(|c| !matches!(c, '0' | '_'));
        if !grouped || zeros_first {
            return Err(Fault::syntax(start, format!("`{word}` is not a number")));
        }
        i64::from_str_radix(&spaced.replace('_', ""), radix)
            .map(Token::Integer)
            .map_err(|_| Fault::unsupported(start, "an integer of more than 63 bits"))
    }

    fn name_or_string(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.offset;
        let word = self.word();
        if !self.rest().starts_with(['\'', '"']) {
            return Ok(Token::Name(word));
        }
        match word {
            "r" | "R" => Ok(Token::String(self.string(start, true)?)),
            "u" | "U" => Ok(Token::String(self.string(start, false)?)),
            _ => Err(Fault::unsupported(
                start,
                format!("a string literal with the prefix `{word}`"),
            )),
        }
    }

    /// Reads a string whose opening quotes are next. `start` is the offset of its prefix.
    fn string(&mut self, start: usize, raw: bool) -> Result<Cow<'a, str>, Fault> {
        let rest = self.rest();
        let quote = &rest[..1];
        let triple = rest.len() >= 3 && rest.as_bytes()[..3] == [rest.as_bytes()[0]; 3];
        let closing = if triple { &rest[..3] } else { quote };
        self.offset += closing.len();
        let content = self.offset;
        // Copied only from the first place on where value and text differ.
        let mut value: Option<String> = None;
        loop {
            let rest = self.rest();
            let plain = rest
                .find(|c: char| c == '\\' || c == '\n' || c == '\r' || quote.starts_with(c))
                .ok_or_else(|| Fault::syntax(start, "this string does not end"))?;
            if let Some(value) = &mut value {
                value.push_str(&rest[..plain]);
            }
            self.offset += plain;
            let rest = self.rest();
            if rest.starts_with(closing) {
                let end = self.offset;
                self.offset += closing.len();
                return Ok(value.map_or(Cow::Borrowed(&self.text[content..end]), Cow::Owned));
            }
            let value = value.get_or_insert_with(|| self.text[content..self.offset].to_owned());
            match rest.as_bytes()[0] {
                b'\\' => {
                    self.offset += 1;
                    if raw {
                        value.push('\\');
                        self.raw_escape(value);
                    } else {
                        self.escape(value)?;
                    }
                }
                b'\n' | b'\r' => {
                    if !triple {
                        return Err(Fault::syntax(start, "this string does not end on its line"));
                    }
                    // Python reads any line end as a line feed.
                    value.push('\n');
                    self.skip_line_end();
                }
                other => {
                    value.push(char::from(other));
                    self.offset += 1;
                }
            }
        }
    }

    /// Reads an escape in a raw string, where a backslash stays and keeps a quote from ending the
    /// string.
    fn raw_escape(&mut self, value: &mut String) {
        match self.rest().chars().next() {
            Some('\n' | '\r') => {
                value.push('\n');
                self.skip_line_end();
            }
            Some(next) => {
                value.push(next);
                self.offset += next.len_utf8();
            }
            None => {}
        }
    }

    /// The rest of an escape, after the backslash.
    fn escape(&mut self, value: &mut String) -> Result<(), Fault> {
        let start = self.offset - 1;
        let Some(escape) = self.rest().chars().next() else {
            return Ok(());
        };
        if matches!(escape, '\n' | '\r') {
            self.skip_line_end();
            return Ok(());
        }
        if escape.is_digit(8) {
            let rest = self.rest().as_bytes();
            let digits = rest
                .iter()
                .take(3)
                .take_while(|b| matches!(b, b'0'..=b'7'))
                .count();
            return self.code_point(value, start, digits, 8);
        }
        self.offset += escape.len_utf8();
        match escape {
            '\\' | '\'' | '"' => value.push(escape),
            'a' => value.push('\x07'),
            'b' => value.push('\x08'),
            'f' => value.push('\x0c'),
            'n' => value.push('\n'),
            'r' => value.push('\r'),
            't' => value.push('\t'),
            'v' => value.push('\x0b'),
            'x' => self.code_point(value, start, 2, 16)?,
            'u' => self.code_point(value, start, 4, 16)?,
            'U' => self.code_point(value, start, 8, 16)?,
            'N' => return Err(Fault::unsupported(start, "a character given by its name")),
            // Python keeps the backslash of an unknown escape.
            other => value.extend(['\\', other]),
        }
        Ok(())
    }

    fn code_point(
        &mut self,
        value: &mut String,
        start: usize,
        digits: usize,
        radix: u32,
    ) -> Result<(), Fault> {
        let code = self
            .rest()
            .get(..digits)
            .filter(|text| text.chars().all(|digit| digit.is_digit(radix)))
            .and_then(|text| u32::from_str_radix(text, radix).ok())
            .ok_or_else(|| Fault::syntax(start, "this escape has too few digits"))?;
        self.offset += digits;
        if (0xd800..=0xdfff).contains(&code) {
            return Err(Fault::unsupported(start, "half of a surrogate pair"));
        }
        value.push(
            char::from_u32(code)
                .ok_or_else(|| Fault::syntax(start, "there is no character with this number"))?,
        );
        Ok(())
    }
}
