//! Commits that requests name: their full hashes and details, and those that were built.

use std::collections::BTreeSet;
use std::sync::Arc;

use pinpoint_backends::local::{CommitName, NoCommitName};
use pinpoint_core::api::{BuildInfo, GetCommitResponse, Timestamp};
use pinpoint_core::bots::{Bot, Workers};
use tonic::Status;

use super::commits::{Commits, RECENT, web_url};
use crate::api::grpc::errors;
use crate::state::Service;

/// The most builds of a list.
const MOST_BUILDS: usize = 50;

/// The most builds that are read: many are of the same commits.
const MOST_READ_BUILDS: u32 = 500;

impl Service {
    /// The mirrors, and the repository that GetCommit looks into.
    pub(crate) fn main_repository(&self) -> Result<(&Arc<Commits>, &str), Status> {
        let Some(commits) = &self.commits else {
            return Err(Status::failed_precondition(
                "this service does not look up commits; its operator configures `[commits]`",
            ));
        };
        let main = commits.main_repository.as_deref().or_else(|| {
            let all = self.usable_bots().filter_map(|bot| bot.repository);
            let all: BTreeSet<_> = all.collect();
            all.first().copied().filter(|_| all.len() == 1)
        });
        let main = main.ok_or_else(|| {
            Status::failed_precondition(
                "bots have several repositories; the operator names one, `main_repository` in `[commits]`",
            )
        })?;
        Ok((commits, main))
    }

    /// The details of a commit of the repository that GetCommit looks into.
    pub(crate) async fn commit(&self, name: &str) -> Result<GetCommitResponse, Status> {
        let name: CommitName = { name.trim().parse() }
            .map_err(|error: NoCommitName| errors::field("commit", &error.to_string()))?;
        let (commits, repository) = self.main_repository()?;
        self.commit_in(commits, repository, &name).await
    }

    /// The details of a commit of this repository.
    pub(crate) async fn commit_in(
        &self,
        commits: &Commits,
        repository: &str,
        name: &CommitName,
    ) -> Result<GetCommitResponse, Status> {
        let found = commits.find(repository, name).await?;
        let found = found.ok_or_else(|| Status::not_found(no_commit(repository, name)))?;
        let (branch, position) = found.position().unwrap_or_default();
        let review = found.footer("Reviewed-on");
        let review = review.filter(|url| url.starts_with("https://"));
        Ok(GetCommitResponse {
            repository: repository.to_owned(),
            url: web_url(repository, &found.git_hash),
            commit_branch: branch.to_owned(),
            commit_position: i64::try_from(position).unwrap_or_default(),
            review_url: review.unwrap_or_default().to_owned(),
            change_id: found.footer("Change-Id").unwrap_or_default().to_owned(),
            git_hash: found.git_hash,
            author: found.author,
            created: found.created,
            subject: found.subject,
            message: found.message,
        })
    }

    /// The commits that were last built for a bot, the newest first.
    pub(crate) async fn recent_builds(&self, bot: &Bot<'_>) -> Result<Vec<BuildInfo>, Status> {
        let builds = self
            .store
            .jobs()
            .recent_builds(bot.configured_as, MOST_READ_BUILDS)
            .await
            .map_err(errors::store)?;
        let mut seen = BTreeSet::new();
        // The hash alone identifies only a plain commit.
        let builds = builds.into_iter().filter(|build| {
            let main = build.commit.main.clone();
            build.commit == main.clone().into()
                && main.merged.is_empty()
                && seen.insert(main.git_hash)
        });
        let builds = builds.take(MOST_BUILDS).map(|build| BuildInfo {
            git_hash: build.commit.main.git_hash,
            // Builds have no numbers here.
            build_number: 0,
            created: Timestamp::of_milliseconds(build.recorded),
        });
        Ok(builds.collect())
    }

    /// The full hash of a commit of a bot's repository, or the reason why it has none. Names that
    /// this service can't look up stay as they are, for the check of the request.
    pub(crate) async fn full_hash(
        &self,
        bot: &Bot<'_>,
        text: &str,
    ) -> Result<Result<String, String>, Status> {
        if text == RECENT {
            let builds = self.recent_builds(bot).await?;
            let newest = builds.into_iter().next();
            return Ok(newest.map(|build| build.git_hash).ok_or_else(|| {
                format!(
                    "no job has built a commit for {} yet; name another",
                    bot.name
                )
            }));
        }
        let is_swarming = matches!(bot.workers, Workers::Swarming(_));
        let (Some(commits), Some(repository), false) = (
            &self.commits,
            bot.repository,
            is_swarming || text.is_empty(),
        ) else {
            return Ok(Ok(text.to_owned()));
        };
        match text.parse::<CommitName>() {
            Ok(name) if name.is_full_hash() => Ok(match commits.lacks(repository, &name).await {
                true => Err(no_commit(repository, &name)),
                false => Ok(text.to_owned()),
            }),
            Ok(name) => Ok(match commits.find(repository, &name).await? {
                Some(found) => Ok(found.git_hash),
                None => Err(no_commit(repository, &name)),
            }),
            Err(error) => Ok(Err(format!("{error}, or {RECENT}"))),
        }
    }

    /// As [`Service::full_hash`] without a bot: looks into the repository of GetCommit. The bot has
    /// to be fixed first, so a failed look-up is not reported.
    pub(crate) async fn full_hash_without_bot(&self, text: &str) -> Result<String, String> {
        let name = text.parse::<CommitName>().ok();
        let name = name.filter(|name| !name.is_full_hash());
        let (Ok((commits, repository)), Some(name)) = (self.main_repository(), name) else {
            return Ok(text.to_owned());
        };
        match commits.find(repository, &name).await {
            Ok(Some(found)) => Ok(found.git_hash),
            Ok(None) => Err(no_commit(repository, &name)),
            Err(_) => Ok(text.to_owned()),
        }
    }
}

/// The problem of a name that no commit has.
pub(crate) fn no_commit(repository: &str, name: &CommitName) -> String {
    format!("{repository} has no commit {name}")
}
