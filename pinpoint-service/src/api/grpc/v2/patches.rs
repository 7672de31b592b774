//! Changes under review that a job applies: fetched from Gerrit when it is made, and kept with the
//! job as a file, so that workers need nothing else.

use pinpoint_core::Patch;
use pinpoint_core::api::{GetPatchRequest, GetPatchResponse};
use sha2::{Digest, Sha256};
use tonic::Status;

use super::super::errors;
use super::messages::create_job_request::Question;
use super::messages::{self, CreateJobRequest};
use crate::jobs::gerrit::{NO_GERRIT, is_project_of};
use crate::state::Service;

/// A patch with its content.
pub(super) struct PatchFile {
    pub(super) patch: Patch,
    pub(super) content: Vec<u8>,
}

/// The sides of a comparison that name a change, each with its field.
fn sides(request: &mut CreateJobRequest) -> Vec<(&'static str, &mut messages::Patch)> {
    let Some(Question::Pairwise(asked)) = &mut request.question else {
        return Vec::new();
    };
    let sides = [
        ("pairwise.base_patch", &mut asked.base_patch),
        ("pairwise.experiment_patch", &mut asked.experiment_patch),
    ];
    let named = sides.into_iter();
    named
        .filter_map(|(field, side)| Some((field, side.as_mut()?)))
        .collect()
}

impl Service {
    /// The patch of a job, if a side of it names a change: the request names the patch set then.
    ///
    /// # Errors
    ///
    /// When the change is unknown, when it belongs to another repository than the bot's, and when
    /// the sides name two.
    pub(super) async fn patch_file(
        &self,
        request: &mut CreateJobRequest,
    ) -> Result<Option<PatchFile>, Status> {
        // Another check reports an unknown bot.
        let bot = self.bots.get(request.bot.trim()).ok();
        let repository = bot.and_then(|bot| bot.repository).map(str::to_owned);
        let mut found: Option<GetPatchResponse> = None;
        for (field, side) in sides(request) {
            let Some(gerrit) = &self.gerrit else {
                return Err(errors::field(field, NO_GERRIT));
            };
            let asked = GetPatchRequest {
                host: side.host.clone(),
                change: side.change,
                patchset: side.patchset,
            };
            let change = gerrit
                .patch(asked)
                .await
                .map_err(|status| match status.code() {
                    tonic::Code::NotFound | tonic::Code::InvalidArgument => {
                        errors::field(field, status.message())
                    }
                    _ => status,
                })?;
            side.patchset = Some(change.patchset);
            if let Some(url) = &repository
                && !is_project_of(&change.project, url)
            {
                let problem = format!("it changes {}, and the bot builds {url}", change.project);
                return Err(errors::field(field, &problem));
            }
            let name =
                |it: &GetPatchResponse| (it.host.to_ascii_lowercase(), it.change, it.patchset);
            if found
                .as_ref()
                .is_some_and(|other| name(other) != name(&change))
            {
                let problem = "one job can apply one change: name the same one for both sides, or commit one of them";
                return Err(errors::field(field, problem));
            }
            found = Some(change);
        }
        let (Some(change), Some(gerrit)) = (found, &self.gerrit) else {
            return Ok(None);
        };
        let content = gerrit.file(&change).await?;
        Ok(Some(PatchFile {
            patch: Patch::File {
                name: address(&change),
                sha256: hex::encode(Sha256::digest(&content)),
            },
            content,
        }))
    }
}

/// The page of a patch set.
fn address(patch: &GetPatchResponse) -> String {
    let GetPatchResponse {
        host,
        project,
        change,
        patchset,
        ..
    } = patch;
    format!("https://{host}/c/{project}/+/{change}/{patchset}")
}
