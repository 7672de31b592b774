//! Source maps: the names of a script's functions before it was bundled.
//!
//! ```json
//! {"version": 3, "sources": ["src/lexer.ts"], "names": ["nextToken"], "mappings": "AAEAA"}
//! ```
//!
//! `mappings` has the lines of the script, divided by `;`, and in each the places that are
//! known, divided by `,`: the column and, in the original, the source, its line, the column
//! and the name, each less the one before it, in digits of five bits. Described in ECMA-426.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use pinpoint_document::Name;

/// The most places of one map: some 400 MB.
const MOST_PLACES: usize = 1 << 24;

/// Text that may stand between the name of a function and its parameters, where V8 has it begin.
const BETWEEN: [&str; 11] = [
    " ",
    "=",
    ":",
    " = ",
    ": ",
    "=async ",
    " = async ",
    "=function",
    "=function ",
    " = function",
    " = function ",
];

/// So many places before that of a function may hold its name.
const PLACES_BEFORE: usize = 4;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Document<'a> {
    #[serde(borrow)]
    source_root: Option<Cow<'a, str>>,
    #[serde(borrow)]
    sources: Vec<Option<Name<'a>>>,
    #[serde(borrow)]
    names: Vec<Name<'a>>,
    #[serde(borrow)]
    mappings: Cow<'a, str>,
    /// The sections of a map that is composed of others.
    #[serde(borrow)]
    sections: Vec<Section<'a>>,
}

#[derive(Deserialize)]
struct Section<'a> {
    offset: Offset,
    #[serde(borrow)]
    map: &'a RawValue,
}

#[derive(Clone, Copy, Deserialize, Default)]
struct Offset {
    line: u32,
    column: u32,
}

/// A place in the script, and in the original if it has one. All are counted from 0.
#[derive(Clone, Copy)]
struct SourceMapping {
    line: u32,
    column: u32,
    /// Source, line and column there.
    original: Option<(u32, u32, u32)>,
    name: Option<u32>,
}

/// The map of one script.
#[derive(Default)]
pub(super) struct SourceMap {
    sources: Vec<String>,
    names: Vec<String>,
    /// In the order of line and column.
    places: Vec<SourceMapping>,
}

/// The original place of a function. Line and column are counted from 0.
#[derive(Debug, PartialEq)]
pub(super) struct Original<'a> {
    pub(super) source: &'a str,
    pub(super) line: u32,
    pub(super) column: u32,
    /// Absent where the map does not have it.
    pub(super) name: Option<&'a str>,
}

impl SourceMap {
    /// Reads a map of a script with this URL. An error is the problem in words.
    pub(super) fn read(text: &str, url: &str) -> Result<Self, String> {
        let document: Document = parse(text)?;
        let mut map = Self::default();
        for section in &document.sections {
            let inside: Document = parse(section.map.get())?;
            if !inside.sections.is_empty() {
                return Err("a section has sections".into());
            }
            map.add(&inside, section.offset, url)?;
        }
        map.add(&document, Offset::default(), url)?;
        if map.places.is_empty() {
            return Err("it maps nothing".into());
        }
        map.places.sort_by_key(|place| (place.line, place.column));
        Ok(map)
    }

    fn add(&mut self, document: &Document, offset: Offset, url: &str) -> Result<(), String> {
        let sources = Range::new(self.sources.len(), document.sources.len());
        let names = Range::new(self.names.len(), document.names.len());
        let root = document.source_root.as_deref().unwrap_or_default();
        for source in &document.sources {
            let source = source.as_ref().map_or("", |source| &source.0);
            self.sources.push(resolved(source, root, url));
        }
        let document_names = document.names.iter();
        self.names
            .extend(document_names.map(|name| name.0.to_string()));
        // Running values, to which each place adds.
        let [mut source, mut line, mut column, mut name] = [0_u32; 4];
        for (generated_line, places) in (0_u32..).zip(document.mappings.split(';')) {
            let mut generated_column = if generated_line == 0 {
                offset.column
            } else {
                0
            };
            for place in places.split(',').filter(|place| !place.is_empty()) {
                let (numbers, count) = numbers(place)?;
                let [by_column, by_source, by_line, by_original_column, by_name] = numbers;
                advance(&mut generated_column, by_column)?;
                let original = if count >= 4 {
                    advance(&mut source, by_source)?;
                    advance(&mut line, by_line)?;
                    advance(&mut column, by_original_column)?;
                    Some((sources.place(source, "source")?, line, column))
                } else {
                    None
                };
                let has_name = count == 5;
                if has_name {
                    advance(&mut name, by_name)?;
                }
                if self.places.len() >= MOST_PLACES {
                    return Err("it maps too many places".into());
                }
                self.places.push(SourceMapping {
                    line: generated_line.saturating_add(offset.line),
                    column: generated_column,
                    original,
                    name: has_name.then(|| names.place(name, "name")).transpose()?,
                });
            }
        }
        Ok(())
    }

    /// The original place of a function that begins here in the script, with its parameters.
    pub(super) fn original(&self, line: u32, column: u32, name: &str) -> Option<Original<'_>> {
        let after = |place: &SourceMapping| (place.line, place.column) <= (line, column);
        let at = self.places.partition_point(after).checked_sub(1)?;
        let place = self.places.get(at).filter(|place| place.line == line)?;
        let (source, original_line, original_column) = place.original?;
        Some(Original {
            source: self.sources.get(source as usize)?,
            line: original_line,
            column: original_column,
            name: self.name_before(at, column, name),
        })
    }

    /// The original name of a function whose parameters begin at a column, in the place `at`
    /// or after it.
    fn name_before(&self, at: usize, column: u32, name: &str) -> Option<&str> {
        // The map has the last part of a longer name.
        let name = name.rsplit('.').next().unwrap_or(name);
        let length = name.encode_utf16().count();
        let line = self.places.get(at)?.line;
        let before = self.places.get(..=at)?.iter().rev().take(PLACES_BEFORE);
        let before = before.take_while(|place| place.line == line);
        let with_gaps = before.filter_map(|place| {
            let gap = (column as usize).checked_sub(place.column as usize + length)?;
            Some((place, gap))
        });
        // The text directly before the parameters is the name, renamed or not.
        let found = with_gaps.clone().find(|(_, gap)| *gap == 0).or_else(|| {
            let is_assigned = |gap| BETWEEN.iter().any(|text| text.len() == gap);
            let mut named = with_gaps.filter(|(place, _)| place.name.is_some());
            named.find(|(_, gap)| is_assigned(*gap))
        });
        let (place, _) = found.filter(|_| length > 0)?;
        self.names.get(place.name? as usize).map(String::as_str)
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// The range of a document's sources or names among those of all.
struct Range {
    first: usize,
    count: usize,
}

impl Range {
    fn new(first: usize, count: usize) -> Self {
        Self { first, count }
    }

    fn place(&self, index: u32, what: &str) -> Result<u32, String> {
        let missing = || format!("{what} {index} is named, and there are only {}", self.count);
        let known = Some(index as usize).filter(|index| *index < self.count);
        let place = known.and_then(|index| u32::try_from(self.first + index).ok());
        place.ok_or_else(missing)
    }
}

fn advance(value: &mut u32, by: i64) -> Result<(), String> {
    let sum = i64::from(*value) + by;
    *value = u32::try_from(sum).map_err(|_| format!("a place is at {sum}"))?;
    Ok(())
}

/// The one, four or five numbers of a place.
fn numbers(place: &str) -> Result<([i64; 5], usize), String> {
    let misshapen = || format!("the place {place:?} is not of 1, 4 or 5 numbers");
    let mut numbers = [0_i64; 5];
    let (mut count, mut value, mut shift) = (0, 0_i64, 0);
    for byte in place.bytes() {
        let digit = digit(byte).filter(|_| shift <= 30).ok_or_else(misshapen)?;
        value |= i64::from(digit & 31) << shift;
        if digit & 32 != 0 {
            shift += 5;
            continue;
        }
        // The last bit is the sign.
        let magnitude = value >> 1;
        let number = numbers.get_mut(count).ok_or_else(misshapen)?;
        *number = if value & 1 == 1 {
            -magnitude
        } else {
            magnitude
        };
        count += 1;
        (value, shift) = (0, 0);
    }
    if shift != 0 || !matches!(count, 1 | 4 | 5) {
        return Err(misshapen());
    }
    Ok((numbers, count))
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// A source as a URL: below the root, and relative to the script where it has no scheme.
fn resolved(source: &str, root: &str, url: &str) -> String {
    let below = match root {
        "" => source.to_owned(),
        _ if source.contains("://") || source.starts_with('/') => source.to_owned(),
        root => format!("{}/{source}", root.trim_end_matches('/')),
    };
    let Some((scheme, rest)) = url.split_once("://").filter(|_| !below.contains("://")) else {
        return below;
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, folders) = rest.split_once('/').unwrap_or((rest, ""));
    let mut parts: Vec<&str> = Vec::new();
    if !below.starts_with('/') {
        parts.extend(
            folders
                .rsplit_once('/')
                .map_or("", |(folders, _)| folders)
                .split('/'),
        );
    }
    for part in below.split('/') {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.retain(|part| !matches!(*part, "" | "."));
    format!("{scheme}://{host}/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Written by esbuild 0.28 with `--bundle --minify --sourcemap`, less the sources' texts.
    const MAP: &str = concat!(
        r#"{"version": 3, "sources": ["../src/lexer.ts", "../src/main.ts"], "names": ["#,
        r#""nextToken", "source", "from", "sum", "at", "Lexer", "text", "parseAll", "text", "#,
        r#""sum", "round", "nextToken", "peekAll", "lexer", "i", "Lexer"], "mappings": ""#,
        "MAAO,SAASA,EAAUC,EAAgBC,EAAsB,CAC9D,IAAIC,EAAM,EACV,QAASC,EAAKF,EAAME,EAAKH,EAAO,OAAQG,I",
        "AAMD,EAAOA,EAAM,GAAKF,EAAO,WAAWG,CAAE,EAAK,EACzF,OAAOD,CACT,CACO,IAAME,EAAN,KAAY,CACjB,Y",
        "AAqBC,EAAc,CAAd,UAAAA,CAAe,CAAf,KACrB,UAAUJ,EAAsB,CAC9B,IAAIC,EAAM,EACV,QAASC,EAAKF,EAAM",
        "E,EAAK,KAAK,KAAK,OAAQA,IAAMD,EAAOA,EAAM,GAAK,KAAK,KAAK,WAAWC,CAAE,EAAK,EAC/F,OAAOD,CACT,",
        "CACF,ECXA,IAAMI,EAAYC,GAAyB,CACzC,IAAIC,EAAM,EACV,QAASC,EAAQ,EAAGA,EAAQ,IAAMA,IAASD,GAAO",
        "E,EAAUH,EAAME,EAAQ,CAAC,EAC3E,OAAOD,CACT,EACMG,EAAU,SAAUC,EAAsB,CAC9C,IAAIJ,EAAM,EACV,QA",
        "ASC,EAAQ,EAAGA,EAAQ,IAAMA,IAASD,GAAOI,EAAM,UAAUH,EAAQ,CAAC,EAC3E,OAAOD,CACT,EACMD,EAAO,2",
        "BAA2B,OAAO,GAAG,EAClD,CAAC,EAAG,EAAG,CAAC,EAAE,QAAQ,IAAM,CACtB,IAAIC,EAAM,EACV,QAASK,EAA",
        "I,EAAGA,EAAI,IAAKA,IAAKL,EAAOA,EAAMK,EAAK,EAChD,QAAQ,IAAIL,CAAG,CACjB,CAAC,EACD,QAAQ,IAA",
        "IF,EAASC,CAAI,EAAGI,EAAQ,IAAIG,EAAMP,CAAI,CAAC,CAAC",
        r#""}"#,
    );

    /// The functions of the script as Node.js 20 names and places them.
    #[test]
    fn functions_have_the_names_and_places_that_they_had() {
        let map = SourceMap::read(MAP, "https://example.com/dist/a.js?v=1").unwrap();
        for (name, column, file, line, original) in [
            // `function l(r,t)`
            ("l", 16, "lexer", 1, Some("nextToken")),
            // `class{constructor(t)`
            ("o", 114, "lexer", 7, None),
            // `peekToken(t)`, which is not renamed.
            ("peekToken", 144, "lexer", 8, None),
            // `var s=r=>`
            ("s", 241, "main", 2, Some("parseAll")),
            // `m=function(r)`
            ("m", 307, "main", 7, Some("peekAll")),
            // `forEach(()=>`
            ("", 428, "main", 13, None),
        ] {
            let found = map.original(0, column, name).expect("it is mapped");
            assert_eq!(found.source, format!("https://example.com/src/{file}.ts"));
            assert_eq!((found.line + 1, found.name), (line, original), "{name}");
        }
        assert_eq!(map.original(0, 1, "l"), None);
        assert_eq!(map.original(1, 0, "l"), None);
    }

    #[test]
    fn an_arrow_functions_name_is_the_one_it_is_assigned_to() {
        // `var t=r=>1`, where `t` was `parse` and `r` was `text`.
        let text =
            r#"{"sources": ["a.ts"], "names": ["parse", "text"], "mappings": "IAAAA,EAAQC"}"#;
        let map = SourceMap::read(text, "").unwrap();
        let found = map.original(0, 6, "t").unwrap();
        assert_eq!((found.source, found.name), ("a.ts", Some("parse")));
        // Anonymous, it has none.
        assert_eq!(map.original(0, 6, "").unwrap().name, None);
        assert_eq!(map.original(1, 0, "t"), None);
    }

    #[test]
    fn sections_stand_where_they_begin() {
        let text = r#"{"sections": [
            {"offset": {"line": 0, "column": 0}, "map": {"sources": ["a.js"], "mappings": "AAAA"}},
            {"offset": {"line": 2, "column": 5}, "map": {"sources": ["b.js"], "sourceRoot": "/lib/", "mappings": "AACA;AAEA"}}]}"#;
        let map = SourceMap::read(text, "file:///dist/x.js").unwrap();
        let found = |line, column| {
            let found = map.original(line, column, "f")?;
            Some((found.source.to_owned(), found.line))
        };
        assert_eq!(found(0, 9), Some(("file:///dist/a.js".into(), 0)));
        assert_eq!(found(2, 4), None);
        assert_eq!(found(2, 5), Some(("file:///lib/b.js".into(), 1)));
        assert_eq!(found(3, 0), Some(("file:///lib/b.js".into(), 3)));
    }

    #[test]
    fn sources_are_beside_the_script() {
        for (source, root, url, expected) in [
            (
                "a.ts",
                "",
                "https://example.com/x/y.js",
                "https://example.com/x/a.ts",
            ),
            (
                "../a.ts",
                "",
                "https://example.com/x/y.js",
                "https://example.com/a.ts",
            ),
            (
                "../../a.ts",
                "",
                "https://example.com/y.js",
                "https://example.com/a.ts",
            ),
            (
                "/a.ts",
                "",
                "https://example.com/x/y.js",
                "https://example.com/a.ts",
            ),
            (
                "a.ts",
                "src/",
                "https://example.com/x/y.js",
                "https://example.com/x/src/a.ts",
            ),
            (
                "a.ts",
                "webpack://app/",
                "https://example.com/y.js",
                "webpack://app/a.ts",
            ),
            (
                "webpack://app/./a.ts",
                "src",
                "https://example.com/y.js",
                "webpack://app/./a.ts",
            ),
            ("a.ts", "", "file:///app/y.js", "file:///app/a.ts"),
            ("a.ts", "", "evalmachine", "a.ts"),
        ] {
            assert_eq!(
                resolved(source, root, url),
                expected,
                "{source} {root} {url}"
            );
        }
    }

    #[test]
    fn what_is_no_map_is_said() {
        for (text, expected) in [
            ("7", "invalid type"),
            ("[]", "maps nothing"),
            ("{}", "maps nothing"),
            (r#"{"mappings": ";;"}"#, "maps nothing"),
            (r#"{"mappings": "AA"}"#, "\"AA\" is not of 1, 4 or 5"),
            (r#"{"mappings": "g"}"#, "\"g\" is not"),
            (r#"{"mappings": "A!"}"#, "\"A!\" is not"),
            (r#"{"mappings": "gggggggggggggggB"}"#, "is not of 1"),
            (r#"{"mappings": "D"}"#, "at -1"),
            (
                r#"{"mappings": "AAAA"}"#,
                "source 0 is named, and there are only 0",
            ),
            (
                r#"{"sources": ["a"], "mappings": "AAAAC"}"#,
                "name 1 is named",
            ),
            (
                r#"{"sections": [{"offset": {"line": 0, "column": 0}, "map": {"sections": [{"offset": {"line": 0, "column": 0}, "map": {}}]}}]}"#,
                "has sections",
            ),
        ] {
            let problem = SourceMap::read(text, "").err().expect("it is wrong");
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    proptest! {
        /// Any text is a map or a problem, and any place is known or not.
        #[test]
        fn no_text_is_too_odd(mappings in "[A-Za-z0-9+/,;]{0,60}", line in 0_u32..3, column: u32) {
            let text = format!(r#"{{"sources": ["a", "b"], "names": ["c"], "mappings": "{mappings}"}}"#);
            if let Ok(map) = SourceMap::read(&text, "https://example.com/a.js") {
                let _ = map.original(line, column, "name");
            }
        }
    }
}
