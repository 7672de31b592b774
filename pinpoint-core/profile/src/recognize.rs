//! Reads a profile in the format that its content shows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::read::{
    austin, callgrind, chrome_trace, cpuprofile, firefox, folded, legacy_pprof, macos_sample,
    perf_script, pprof, simpleperf, speedscope, stackprof, v8_log,
};
use super::{Profile, ProfileFormat, ReadProfileError};
use pinpoint_document::{Name, OutputPosition};

/// The most bytes that a compressed profile may become.
const MOST_BYTES: u64 = 2 << 30;

impl Profile {
    /// Reads a profile, plain or compressed with gzip, in the format that its content
    /// shows.
    ///
    /// # Errors
    ///
    /// [`ReadProfileError`]: damage anywhere, a profile without samples or symbols or of
    /// two units, and one that is too large.
    ///
    /// # Cost
    ///
    /// Proportional to the content, which is walked and not held: only the names, the stacks and 24
    /// to 32 bytes for each sample are kept.
    pub fn read(content: &[u8]) -> Result<Self, ReadProfileError> {
        Self::read_event(content, None)
    }

    /// Reads a profile that counts several things: of the text of `perf script` the samples of this
    /// event, of callgrind's and pprof's profiles this value. Without an event, as
    /// [`read`](Self::read).
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read), and [`ReadProfileError::NoEvent`].
    ///
    /// # Cost
    ///
    /// That of [`read`](Self::read).
    ///
    /// ```
    /// use pinpoint_profile::Profile;
    ///
    /// let text = b"events: Ir Dr\nfn=parse\n1 30 7\n";
    /// assert_eq!(Profile::read_event(text, Some("Dr"))?.total(), 7.0);
    /// assert!(Profile::read_event(text, Some("Dw")).is_err());
    /// # Ok::<(), pinpoint_profile::ReadProfileError>(())
    /// ```
    pub fn read_event(content: &[u8], event: Option<&str>) -> Result<Self, ReadProfileError> {
        let content = &*plain(content)?;
        let format = recognized(content)?;
        if format == ProfileFormat::Pprof {
            return match legacy_pprof::recognize(content) {
                true => legacy_pprof::read(content, event),
                false => pprof::read(content, event),
            };
        }
        let text = utf8(content, format)?;
        let counts_several = matches!(
            format,
            ProfileFormat::PerfScript | ProfileFormat::Callgrind | ProfileFormat::Simpleperf
        );
        if let Some(event) = event.filter(|_| !counts_several) {
            return Err(ReadProfileError::NoEvent {
                format,
                event: event.to_owned(),
                events: Vec::new(),
            });
        }
        match format {
            ProfileFormat::ChromeTrace => chrome_trace::read(text),
            ProfileFormat::CpuProfile => cpuprofile::read(text),
            ProfileFormat::PerfScript => perf_script::read(text, event),
            ProfileFormat::Folded => folded::read(text),
            ProfileFormat::Pprof => pprof::read(content, event),
            ProfileFormat::Firefox => firefox::read(text),
            ProfileFormat::Speedscope => speedscope::read(text),
            ProfileFormat::Callgrind => callgrind::read(text, event),
            ProfileFormat::V8Log => v8_log::read(text),
            ProfileFormat::Stackprof => stackprof::read(text),
            ProfileFormat::Austin => austin::read(text),
            ProfileFormat::Simpleperf => simpleperf::read(text, event),
            ProfileFormat::MacosSample => macos_sample::read(text),
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The content without its compression, and without the mark that some editors and consoles
/// begin text with.
pub(super) fn plain(content: &[u8]) -> Result<Cow<'_, [u8]>, ReadProfileError> {
    if !content.starts_with(&[0x1f, 0x8b]) {
        let plain = content.strip_prefix(BYTE_ORDER_MARK);
        return Ok(Cow::Borrowed(plain.unwrap_or(content)));
    }
    let mut plain = decompress(content)?;
    if plain.starts_with(BYTE_ORDER_MARK) {
        plain.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(Cow::Owned(plain))
}

/// The format of content that is not compressed.
pub(super) fn recognized(content: &[u8]) -> Result<ProfileFormat, ReadProfileError> {
    if content.trim_ascii().is_empty() {
        return Err(ReadProfileError::Empty);
    }
    if content.starts_with(b"PERFILE2") {
        return Err(ReadProfileError::PerfData);
    }
    if content.starts_with(b"FLR\0") {
        return Err(ReadProfileError::FlightRecording);
    }
    let convertible = CONVERTIBLE.iter();
    for (begins, what, command) in convertible.copied() {
        if content.starts_with(begins) {
            return Err(ReadProfileError::NeedsConversion { what, command });
        }
    }
    if let Some(xml) = content.strip_prefix(b"<?xml")
        && [&b"<trace-query-result"[..], b"<trace-toc"]
            .iter()
            .any(|begins| {
                let beginning = xml.get(..xml.len().min(1000)).unwrap_or_default();
                beginning.windows(begins.len()).any(|part| part == *begins)
            })
    {
        return Err(ReadProfileError::NeedsConversion {
            what: "an export of Instruments in XML",
            command: INSTRUMENTS,
        });
    }
    if content.starts_with(&[0xff, 0xfe]) || content.starts_with(&[0xfe, 0xff]) {
        return Err(ReadProfileError::Utf16);
    }
    recognize(content).ok_or(ReadProfileError::NotRecognized)
}

/// The beginnings of files that other programs convert: with what each is, and the command.
const CONVERTIBLE: [(&[u8], &str, &str); 4] = [
    (
        b"MOJ",
        "Austin's binary form, MOJO",
        "mojo2austin profile.mojo profile.txt",
    ),
    (
        b"\x04\x08{",
        "stackprof's own dump",
        "stackprof --json profile.dump > profile.json",
    ),
    (
        b"SIMPLEPERF",
        "simpleperf's report in protobuf",
        "simpleperf report-sample --show-callchain -i perf.data -o profile.txt",
    ),
    (
        b"v8-version,",
        "V8's log, whose addresses have no names yet",
        "node --prof-process --preprocess isolate.log > profile.json",
    ),
];

const INSTRUMENTS: &str = "xctrace export --input profile.trace --xpath '/trace-toc/run[1]/data/table[@schema=\"time-profile\"]' > profile.xml, then inferno-collapse-xctrace profile.xml > stacks.txt";

/// The content of a format that is text.
pub(super) fn utf8(content: &[u8], format: ProfileFormat) -> Result<&str, ReadProfileError> {
    std::str::from_utf8(content).map_err(|error| not_utf8(content, error, format))
}

fn not_utf8(content: &[u8], error: std::str::Utf8Error, format: ProfileFormat) -> ReadProfileError {
    let before = content.get(..error.valid_up_to()).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n');
    let in_line = before
        .get(start.map_or(0, |at| at + 1)..)
        .unwrap_or_default();
    let place = OutputPosition::Text {
        line,
        column: String::from_utf8_lossy(in_line).chars().count() + 1,
    };
    // Where the text ends in the middle of a character, it was cut.
    match error.error_len() {
        None => ReadProfileError::CutShort { format, place },
        Some(_) => ReadProfileError::Misshapen {
            format,
            place,
            problem: "not UTF-8".into(),
        },
    }
}

fn decompress(content: &[u8]) -> Result<Vec<u8>, ReadProfileError> {
    let mut plain = Vec::new();
    MultiGzDecoder::new(content)
        .take(MOST_BYTES + 1)
        .read_to_end(&mut plain)
        .map_err(|source| ReadProfileError::Compressed { source })?;
    if plain.len() as u64 > MOST_BYTES {
        return Err(ReadProfileError::TooLarge {
            what: "bytes when decompressed",
            most: MOST_BYTES,
        });
    }
    Ok(plain)
}

/// The format, by the beginning: a profile that is cut short later is still recognized,
/// and then refused by its reader.
fn recognize(content: &[u8]) -> Option<ProfileFormat> {
    if pprof::recognize(content) || legacy_pprof::recognize(content) {
        return Some(ProfileFormat::Pprof);
    }
    if begins_as_json(content) {
        return json(content);
    }
    // The beginning is enough for text, to the end of a line; the reader rejects the rest if it is
    // not text.
    let rest = content.get(BEGINNING..).unwrap_or_default();
    let line = rest.iter().position(|byte| *byte == b'\n');
    let end = line.map_or(content.len(), |end| BEGINNING + end + 1);
    let beginning = String::from_utf8_lossy(content.get(..end).unwrap_or(content));
    if callgrind::recognize(&beginning) {
        Some(ProfileFormat::Callgrind)
    } else if perf_script::recognize(&beginning) {
        Some(ProfileFormat::PerfScript)
    } else if austin::recognize(&beginning) {
        Some(ProfileFormat::Austin)
    } else if simpleperf::recognize(&beginning) {
        Some(ProfileFormat::Simpleperf)
    } else if macos_sample::recognize(&beginning) {
        Some(ProfileFormat::MacosSample)
    } else if folded::recognize(&beginning) {
        Some(ProfileFormat::Folded)
    } else {
        None
    }
}

/// Long enough for the comments before the first sample.
const BEGINNING: usize = 1 << 20;

/// An object, or an array of objects: a stack may begin with a bracket, too.
fn begins_as_json(content: &[u8]) -> bool {
    match content.trim_ascii_start() {
        [b'{', ..] => true,
        [b'[', rest @ ..] => matches!(rest.trim_ascii_start().first(), None | Some(b'{' | b']')),
        _ => false,
    }
}

/// Looks at the members of a JSON document until one is of one format only.
fn json(content: &[u8]) -> Option<ProfileFormat> {
    let mut format = None;
    let mut parser = serde_json::Deserializer::from_slice(content);
    // The reader handles the rest, and faults.
    let _ = parser.deserialize_any(Look(&mut format));
    format
}

struct Look<'a>(&'a mut Option<ProfileFormat>);

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = members.next_key()? {
            *self.0 = match &*name {
                "traceEvents" => Some(ProfileFormat::ChromeTrace),
                "nodes" | "timeDeltas" | "head" => Some(ProfileFormat::CpuProfile),
                "profiles" => Some(ProfileFormat::Speedscope),
                "threads" => Some(ProfileFormat::Firefox),
                "gc_samples" => Some(ProfileFormat::Stackprof),
                "code" => Some(ProfileFormat::V8Log),
                _ => None,
            };
            if self.0.is_some() {
                return Err(A::Error::custom("decided"));
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        // The first event is enough. No other format has an empty array or event.
        let first = elements.next_element::<BTreeMap<String, IgnoredAny>>();
        let is_event = |event: &BTreeMap<_, _>| event.is_empty() || event.contains_key("ph");
        if first.is_ok_and(|first| first.as_ref().is_none_or(is_event)) {
            *self.0 = Some(ProfileFormat::ChromeTrace);
        }
        Err(A::Error::custom("decided"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_has_one_name() {
        for format in [
            ProfileFormat::ChromeTrace,
            ProfileFormat::CpuProfile,
            ProfileFormat::PerfScript,
            ProfileFormat::Folded,
            ProfileFormat::Pprof,
            ProfileFormat::Firefox,
            ProfileFormat::Speedscope,
            ProfileFormat::Callgrind,
            ProfileFormat::V8Log,
            ProfileFormat::Stackprof,
            ProfileFormat::Austin,
            ProfileFormat::Simpleperf,
            ProfileFormat::MacosSample,
        ] {
            assert_eq!(serde_json::to_value(format).unwrap(), format.as_str());
        }
    }

    #[test]
    fn files_that_others_convert_name_the_command() {
        let xml = "<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//trace-toc[1]'>";
        for (content, command) in [
            (&b"MOJ\x03\x01austin\x00003.7.0\0"[..], "mojo2austin"),
            (b"\x04\x08{\x10:\x0cversionf\x081", "stackprof --json"),
            (b"SIMPLEPERF\x01\0", "simpleperf report-sample"),
            (b"v8-version,11,3,244,8,-node.23,0\n", "node --prof-process"),
            (xml.as_bytes(), "inferno-collapse-xctrace"),
        ] {
            let error = Profile::read(content).unwrap_err();
            assert!(error.to_string().contains(command), "{error}");
        }
    }

    #[test]
    fn a_recording_of_javas_flight_recorder_is_named() {
        // The magic number and the version 2.1.
        let error = Profile::read(b"FLR\0\0\x02\0\x01\xff").unwrap_err();
        assert!(matches!(error, ReadProfileError::FlightRecording));
        assert!(error.to_string().contains("jfrconv --collapsed"));
    }
}
