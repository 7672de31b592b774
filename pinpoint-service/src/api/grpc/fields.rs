//! Names, ids and titles of jobs and users in requests and answers of all services.

use pinpoint_backends::store::JobId;
use pinpoint_core::api;
use tonic::Status;

use super::errors;
use crate::auth::users::user_name;

/// The most characters of a name, of a story, or of the text of a search.
pub(crate) const MOST_NAME: usize = 1_000;

/// The problem of a text that exceeds this many characters.
pub(crate) fn too_long(text: &str, most: usize) -> Option<String> {
    let is_long = text.chars().nth(most).is_some();
    is_long.then(|| format!("it has more than {most} characters"))
}

/// The user that a filter names, if it does.
pub(crate) fn filtered_user(field: &str, text: &str) -> Result<Option<String>, Status> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let name = user_name(text).map(Some);
    name.ok_or_else(|| errors::field(field, "it has characters that do not show"))
}

/// The title of an unnamed job in a list.
pub(crate) fn title(kind: &str, story: &str, benchmark: &str, bot: &str) -> String {
    match story.trim() {
        "" => format!("{kind} of {benchmark} on {bot}"),
        story => format!("{kind} of {benchmark}/{story} on {bot}"),
    }
}

/// A whole id, as the store has it.
pub(crate) fn whole(id: &str) -> Result<JobId, Status> {
    let id = api::job_id(id).map_err(|found| errors::violations(&found))?;
    JobId::parse(&id.simple().to_string()).map_err(|error| errors::store(error.into()))
}
