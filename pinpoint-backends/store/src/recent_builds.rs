//! The commits that were last built for a bot, from the journals of its newest jobs.

use pinpoint_core::{CombinedCommit, Record, Report};

use super::StoreError;
use super::damage::parsed;
use super::database::Value;
use super::views::Jobs;

/// Jobs whose journals are looked through: a journal is read as a whole.
const JOBS: i64 = 20;

/// A commit that was built.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecentBuild {
    /// The commit.
    pub commit: CombinedCommit,
    /// The time at which that was recorded, in milliseconds since 1970.
    pub recorded: i64,
}

impl Jobs<'_> {
    /// At most `limit` builds that the newest jobs of a bot's workers have recorded, the newest
    /// first. A commit that several jobs have built occurs several times.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or is damaged.
    #[tracing::instrument(name = "store::recent_builds", level = "debug", skip_all, fields(bot))]
    pub async fn recent_builds(
        self,
        bot: &str,
        limit: u32,
    ) -> Result<Vec<RecentBuild>, StoreError> {
        let failed = |source| self.database.failed(source);
        // Records of version 1 have a `detail`.
        let sql = "SELECT recorded, event FROM records WHERE kind = 'built' AND withdrawn = 0 \
                   AND detail IS NULL AND job IN (SELECT number FROM jobs \
                   WHERE bot = $1 AND by_workers = 1 AND builds > 0 ORDER BY number DESC LIMIT $2) \
                   ORDER BY recorded DESC, job DESC, sequence DESC LIMIT $3";
        let values: [Value; 3] = [bot.into(), JOBS.into(), i64::from(limit).into()];
        let rows = self.database.unhurried().fetch(sql, values).await?;
        let mut builds = Vec::with_capacity(rows.len());
        for row in rows {
            let place = || format!("a build for bot {bot}");
            let event = row.text(1).map_err(failed)?;
            if let Record::Reported {
                report: Report::Built(report),
                ..
            } = parsed(&self.database.name, place, &event)?
            {
                builds.push(RecentBuild {
                    commit: report.commit,
                    recorded: row.int(0).map_err(failed)?,
                });
            }
        }
        Ok(builds)
    }
}
