//! The files of a job: its journal, and the outputs of its builds and runs.

use std::path::Path as FilePath;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::{HeaderValue, header};
use pinpoint_backends::local::OutputTail;
use pinpoint_backends::store::JobId;
use serde_json::Value;
use tonic::Status;

use crate::api::grpc::errors;
use crate::api::rest::Problem;
use crate::state::Service;

/// The entries of a journal that are read at once.
const PAGE: u32 = 100;

/// GET `/jobs/{id}/journal.jsonl`: each record with its number and time, one a line, including
/// those that were withdrawn. Paths of machines are left out.
pub(in crate::ui) async fn journal(
    State(service): State<Service>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let job = service.job(&id, &[]).await?;
    let journal = service.store.journals().open(&job.id).await;
    let journal = journal.map_err(errors::store)?;
    let state_dir = service.state_dir.display().to_string();
    let pages = stream::unfold(Some((journal, None, state_dir)), async |place| {
        let (journal, last, state_dir) = place?;
        // The status was sent: only a truncated file can report a failure now.
        let entries = match journal.entries_after(last, PAGE).await {
            Ok(entries) => entries,
            Err(error) => return Some((Err(std::io::Error::other(error)), None)),
        };
        let last = entries.last()?.sequence;
        let mut lines = Vec::new();
        for entry in &entries {
            let line = serde_json::to_value(entry).and_then(|mut entry| {
                leave_paths_out(&mut entry, &state_dir);
                serde_json::to_writer(&mut lines, &entry)
            });
            if let Err(error) = line {
                return Some((Err(error.into()), None));
            }
            lines.push(b'\n');
        }
        let next = (journal, Some(last), state_dir);
        Some((Ok(Bytes::from(lines)), Some(next)))
    });
    let name = format!("attachment; filename=\"pinpoint-{}.jsonl\"", job.id);
    let name =
        HeaderValue::try_from(name).map_err(|_| Status::internal("an id is not a file name"))?;
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/jsonl; charset=utf-8"),
        ),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, Body::from_stream(pages)).into_response())
}

/// Keeps the name of each output without its path, and removes the service's own directory.
fn leave_paths_out(value: &mut Value, state_dir: &str) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(path) if name == "log" => {
                        let file = FilePath::new(path).file_name();
                        let file = file.and_then(|file| file.to_str()).unwrap_or_default();
                        *path = file.to_owned();
                    }
                    value => leave_paths_out(value, state_dir),
                }
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| leave_paths_out(item, state_dir)),
        Value::String(text) if text.contains(state_dir) => *text = text.replace(state_dir, "…"),
        _ => {}
    }
}

/// GET `/jobs/{id}/files/{folder}/{name}`: an output, as far as the store keeps it.
pub(in crate::ui) async fn output(
    State(service): State<Service>,
    Path((id, folder, name)): Path<(String, String, String)>,
) -> Result<Response, Problem> {
    let job = service.job(&id, &[]).await?;
    let wanted = format!("{folder}/{name}");
    let is_output = matches!(&*folder, "builds" | "runs") && !name.ends_with(".jsonl");
    let file = match is_output {
        true => file(&service, &job.id, &wanted).await?,
        false => None,
    };
    let Some(content) = file else {
        let problem = format!("job {} keeps no file {wanted}", job.id);
        return Err(Status::not_found(problem).into());
    };
    let text = String::from_utf8_lossy(&content).into_owned();
    let nosniff = [(header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    Ok((nosniff, text).into_response())
}

async fn file(service: &Service, id: &JobId, name: &str) -> Result<Option<Vec<u8>>, Status> {
    let files = service
        .store
        .files()
        .list(id)
        .await
        .map_err(errors::store)?;
    let file = files.into_iter().find(|file| file.known.name == name);
    Ok(file.map(|file| file.content))
}

/// The end of the output of a run, as far as the store keeps it.
pub(super) async fn end_of_output(
    service: &Service,
    id: &JobId,
    run: &str,
) -> Result<Option<String>, Status> {
    let Some(content) = file(service, id, "runs/tails.jsonl").await? else {
        return Ok(None);
    };
    let lines = content.split(|byte| *byte == b'\n');
    // A line that a kill cut off does not count.
    let mut tails = lines.filter_map(|line| {
        let (name, tail): (String, OutputTail) = serde_json::from_slice(line).ok()?;
        (name == run).then_some(tail)
    });
    let Some(tail) = tails.next_back() else {
        return Ok(None);
    };
    let parts = [
        Some(tail.stdout),
        (!tail.stderr.is_empty()).then(|| format!("[standard error]\n{}", tail.stderr)),
        tail.left.map(|left| format!("[after its end] {left}")),
    ];
    let parts: Vec<_> = parts
        .into_iter()
        .flatten()
        .filter(|it| !it.is_empty())
        .collect();
    Ok((!parts.is_empty()).then(|| parts.join("\n")))
}
