//! `pinpoint cbb`.

use std::fs;
use std::path::Path;

use pinpoint_backends::cbb::{CbbTables, EarlierFile, read_earlier};
use serde_json::json;

use crate::arguments::{Cbb, Display, Output};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{outln, print_json};

pub(crate) fn cbb(command: Cbb, display: &Display) -> Result<u8, CliError> {
    let Cbb::ImportV3 {
        table,
        into,
        tables,
    } = command;
    let unread = |path: &Path, error: &dyn std::fmt::Display| {
        CliError::Input(format!("can't read {}: {error}", path.display()))
    };
    let own = match &tables {
        None => None,
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| unread(path, &error))?;
            Some(CbbTables::read(&text).map_err(|error| unread(path, &error))?)
        }
    };
    let tables = own.as_ref().unwrap_or_else(|| CbbTables::builtin());
    let rows = fs::File::open(&table).map_err(|error| unread(&table, &error))?;
    fs::create_dir_all(&into).map_err(CliError::file("write", &into))?;
    let write = |file: EarlierFile| {
        let content = serde_json::to_vec(&file.content)?;
        fs::write(into.join(&file.name), content)
    };
    let results = read_earlier(std::io::BufReader::new(rows), tables, write);
    let results = results.map_err(|error| unread(&table, &error))?;
    match display.output {
        Output::Json => print_json(json!({
            "files": results.files,
            "short_rows": results.short_rows,
        })),
        Output::Text => outln!(
            "{} files in {}; rows that were too short: {}",
            results.files,
            into.display(),
            results.short_rows,
        ),
    }
    Ok(FOUND)
}
