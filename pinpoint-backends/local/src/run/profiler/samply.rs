//! samply, for Linux and macOS.
//!
//! Its profiles hold addresses; it writes the names of the functions to a separate file
//! (`--unstable-presymbolicate`, samply 0.13). They are added to the profile while the programs
//! still exist. The profile has the format of the Firefox Profiler.
//!
//! ```json
//! {"string_table": ["UNKNOWN", "hash"], "data": [{"debug_name": "words", "debug_id": "0a1b…",
//!  "symbol_table": [{"rva": 4096, "symbol": 1}], "known_addresses": [[4100, 0]]}]}
//! ```

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use super::{ProfilerError, perf};

pub(super) const PROGRAM: &str = "samply";

/// The profile, and the names, in samply's file names.
const FILE: &str = "samply.json";
const SYMBOLS: &str = "samply.syms.json";

/// Samples a second, as many as perf takes.
const FREQUENCY: &str = "997";

/// The digits of a library's identifier, without its age.
const IDENTIFIER: usize = 32;

pub(super) fn command(place: &Path, program: &Path, arguments: Vec<OsString>) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["record", "--save-only", "--unstable-presymbolicate"])
        .args(["--rate", FREQUENCY, "-o"])
        .arg(place.join(FILE))
        .arg("--")
        .arg(program)
        .args(arguments);
    command
}

/// Checks that samply may be used here, by profiling a program that does nothing.
pub(super) fn check() -> Result<(), ProfilerError> {
    perf::checked(PROGRAM, |place| {
        command(place, Path::new("true"), Vec::new())
    })
}

/// Adds the names to the profile that samply wrote; returns the reason, in a line, if they are
/// missing.
pub(super) fn profile(place: &Path) -> Result<PathBuf, String> {
    let read = |name: &str| fs::read(place.join(name)).map_err(|error| failed(name, &error));
    let (profile, symbols) = (read(FILE)?, read(SYMBOLS)?);
    let symbols = serde_json::from_slice(&symbols).map_err(|error| failed(SYMBOLS, &error))?;
    let mut profile = serde_json::from_slice(&profile).map_err(|error| failed(FILE, &error))?;
    add_names(&mut profile, &symbols);
    let path = place.join(FILE);
    fs::write(&path, profile.to_string()).map_err(|error| failed(FILE, &error))?;
    Ok(path)
}

fn failed(name: &str, reason: &dyn std::fmt::Display) -> String {
    format!("samply's {name} can't be used: {reason}; check that samply is version 0.13")
}

#[derive(Deserialize)]
struct Symbols {
    string_table: Vec<String>,
    data: Vec<Library>,
}

#[derive(Deserialize)]
struct Library {
    debug_name: String,
    debug_id: String,
    symbol_table: Vec<Symbol>,
    /// Addresses, and the places of their symbols.
    known_addresses: Vec<(u64, usize)>,
}

#[derive(Deserialize)]
struct Symbol {
    symbol: usize,
}

/// The names in a library, by address.
type NamesAt<'a> = HashMap<u64, &'a str>;

impl Symbols {
    fn by_library(&self) -> HashMap<(String, String), NamesAt<'_>> {
        let name = |(address, place): &(u64, usize), library: &Library| {
            let symbol = library.symbol_table.get(*place)?;
            Some((*address, self.string_table.get(symbol.symbol)?.as_str()))
        };
        let names = |library: &Library| {
            let known = library.known_addresses.iter();
            known.filter_map(|it| name(it, library)).collect()
        };
        let libraries = self.data.iter();
        libraries
            .map(|it| (key(&it.debug_name, &it.debug_id), names(it)))
            .collect()
    }
}

/// Identifies a library, in either form of its identifier.
fn key(name: &str, identifier: &str) -> (String, String) {
    let digits = identifier.chars().filter(char::is_ascii_hexdigit);
    let identifier = digits.take(IDENTIFIER).collect::<String>();
    (name.to_owned(), identifier.to_ascii_lowercase())
}

/// Names the functions that are addresses in a library.
fn add_names(profile: &mut Value, symbols: &Symbols) {
    let by_library = symbols.by_library();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let libraries: Vec<Option<&NamesAt>> = { profile["libs"].as_array().into_iter().flatten() }
        .map(|lib| by_library.get(&key(&text(&lib["debugName"]), &text(&lib["breakpadId"]))))
        .collect();
    let threads = profile["threads"].as_array_mut();
    for thread in threads.into_iter().flatten() {
        add_names_of_thread(thread, &libraries);
    }
}

fn add_names_of_thread(thread: &mut Value, libraries: &[Option<&NamesAt>]) {
    let place = |value: &Value| value.as_u64().and_then(|it| usize::try_from(it).ok());
    let found = |index: usize, name: &Value| {
        let address = thread["stringArray"].get(place(name)?)?.as_str()?;
        let address = u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?;
        let resource = place(&thread["funcTable"]["resource"][index])?;
        let library = place(&thread["resourceTable"]["lib"][resource])?;
        libraries.get(library).copied().flatten()?.get(&address)
    };
    let names = thread["funcTable"]["name"].as_array();
    let names: Vec<(usize, String)> = { names.into_iter().flatten().enumerate() }
        .filter_map(|(index, name)| Some((index, (*found(index, name)?).to_owned())))
        .collect();
    for (index, name) in names {
        let Some(strings) = thread["stringArray"].as_array_mut() else {
            return;
        };
        let string = strings.len();
        strings.push(name.into());
        thread["funcTable"]["name"][index] = string.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::words;
    use super::*;

    #[test]
    fn samply_saves_a_profile_and_names() {
        let command = command(Path::new("/p"), Path::new("./bench"), vec!["x".into()]);
        assert_eq!(
            words(&command).join(" "),
            "samply record --save-only --unstable-presymbolicate --rate 997 -o /p/samply.json -- ./bench x"
        );
    }

    #[test]
    fn addresses_get_the_names_of_their_library() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, value: Value| {
            fs::write(place.path().join(name), value.to_string()).unwrap();
        };
        assert!(profile(place.path()).unwrap_err().contains("version 0.13"));
        write(
            FILE,
            json!({
                "libs": [
                    { "debugName": "libc.so.6", "breakpadId": "1234567890ABCDEF1234567890ABCDEF0" },
                    { "debugName": "words", "breakpadId": "00000000000000000000000000000A1B0" },
                ],
                "threads": [{
                    "stringArray": ["main", "words", "0x160", "0x170"],
                    "funcTable": { "name": [0, 2, 3, 2], "resource": [-1, 0, 0, -1] },
                    "resourceTable": { "lib": [1] },
                }],
            }),
        );
        write(
            SYMBOLS,
            json!({
                "string_table": ["UNKNOWN", "hash"],
                "data": [{
                    "debug_name": "words",
                    "debug_id": "00000000-0000-0000-0000-000000000a1b",
                    "code_id": "",
                    "symbol_table": [{ "rva": 352, "size": 9, "symbol": 1 }],
                    "known_addresses": [[352, 0], [999, 7]],
                }],
            }),
        );
        let named = fs::read(profile(place.path()).unwrap()).unwrap();
        let thread = &serde_json::from_slice::<Value>(&named).unwrap()["threads"][0];
        assert_eq!(thread["funcTable"]["name"], json!([0, 4, 3, 2]));
        assert_eq!(thread["stringArray"][4], "hash");
    }
}
