//! The syntax of a line that `strace -f -y` wrote.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Sockets whose answers do not depend on a commit: the name service cache.
const HARMLESS_SOCKETS: [&str; 2] = ["/var/run/nscd/socket", "/run/nscd/socket"];

/// A call that has returned: `name(arguments) = result`.
pub(super) struct Call<'a> {
    pub(super) name: &'a [u8],
    pub(super) arguments: Vec<&'a [u8]>,
    pub(super) result: &'a [u8],
    pub(super) failed: bool,
}

impl<'a> Call<'a> {
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let open = line.iter().position(|byte| *byte == b'(')?;
        let (name, rest) = (&line[..open], &line[open + 1..]);
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        if name.is_empty() || !name.iter().all(is_name) {
            return None;
        }
        let (arguments, end) = arguments(rest)?;
        let result = rest[end..].trim_ascii_start().strip_prefix(b"=")?;
        let result = result.trim_ascii();
        Some(Self {
            name,
            arguments,
            failed: result.starts_with(b"-") || result.starts_with(b"?"),
            result,
        })
    }

    pub(super) fn number(&self) -> Option<u32> {
        let digits = self.result.split(|byte| !byte.is_ascii_digit()).next()?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    pub(super) fn mentions(&self, word: &[u8]) -> bool {
        self.arguments.iter().any(|it| find(it, word).is_some())
    }

    pub(super) fn mentions_result(&self, word: &[u8]) -> bool {
        find(self.result, word).is_some()
    }

    /// The path of a socket on this machine, unless its answers do not depend on a commit.
    pub(super) fn local_socket(&self) -> Option<String> {
        let has_path = |it: &&&[u8]| find(it, b"sun_path=").is_some();
        let address = String::from_utf8_lossy(self.arguments.iter().find(has_path)?);
        let path = address.split_once("sun_path=")?.1;
        let path = path.split('}').next()?;
        let is_harmless = HARMLESS_SOCKETS
            .iter()
            .any(|socket| path.trim_matches('"') == *socket);
        (!is_harmless).then(|| path.to_owned())
    }
}

/// The arguments of a call, and the place after their closing parenthesis.
fn arguments(text: &[u8]) -> Option<(Vec<&[u8]>, usize)> {
    let (mut found, mut begin, mut depth, mut at) = (Vec::new(), 0, 0_u32, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at + 1)?,
            b'/' if text[at..].starts_with(b"/*") => at += find(&text[at..], b"*/")? + 1,
            // A descriptor with its file: strace escapes angle brackets in names.
            b'<' if at > 0
                && (text[at - 1].is_ascii_digit() || text[..at].ends_with(b"AT_FDCWD"))
                && text.get(at + 1) != Some(&b'<') =>
            {
                at += text[at..].iter().position(|byte| *byte == b'>')?;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                let last = text[begin..at].trim_ascii();
                if !last.is_empty() {
                    found.push(last);
                }
                return Some((found, at + 1));
            }
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                found.push(text[begin..at].trim_ascii());
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The place of the quotation mark that ends a string.
fn end_of_string(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match text.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The path in `3</path>` or `AT_FDCWD</path>`.
pub(super) fn described(argument: &[u8]) -> Option<PathBuf> {
    let open = find(argument, b"</")?;
    let descriptor = &argument[..open];
    let is_number = !descriptor.is_empty() && descriptor.iter().all(u8::is_ascii_digit);
    if !is_number && descriptor != b"AT_FDCWD" {
        return None;
    }
    let path = &argument[open + 1..];
    let path = &path[..path.iter().position(|byte| *byte == b'>')?];
    Some(path_of(path))
}

/// The path of escaped text.
pub(super) fn path_of(text: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(unescaped(text)))
}

/// Text without the escapes of C.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let Some((&escaped, after)) = after.split_first().filter(|_| byte == b'\\') else {
            plain.push(byte);
            continue;
        };
        rest = after;
        plain.push(match escaped {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'0'..=b'7' => {
                let mut value = escaped - b'0';
                for _ in 0..2 {
                    let Some((&digit, after)) = rest.split_first() else {
                        break;
                    };
                    if !(b'0'..=b'7').contains(&digit) {
                        break;
                    }
                    value = value.wrapping_mul(8).wrapping_add(digit - b'0');
                    rest = after;
                }
                value
            }
            other => other,
        });
    }
    plain
}

/// The number of the process at the beginning of a line, and the rest.
pub(super) fn process_of(line: &[u8]) -> Option<(u32, &[u8])> {
    let line = line.trim_ascii();
    let blank = line.iter().position(|byte| *byte == b' ')?;
    let process = std::str::from_utf8(&line[..blank]).ok()?.parse().ok()?;
    Some((process, line[blank..].trim_ascii_start()))
}

/// The call of `… <pid changed to 4711 ...>`, and that process.
pub(super) fn changed_process(line: &[u8]) -> Option<(&[u8], u32)> {
    let begun = line.strip_suffix(b" ...>")?;
    let words = b"<pid changed to ";
    let at = find(begun, words)?;
    let process = std::str::from_utf8(&begun[at + words.len()..]).ok()?;
    Some((&begun[..at], process.parse().ok()?))
}

pub(super) fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}
