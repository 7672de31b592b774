//! The report on a job.

use pinpoint_report::report;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tonic::Status;

use super::super::errors;
use super::messages::{GetReportRequest, GetReportResponse};
use crate::state::Service;

/// The most bytes of a report.
const MOST_BYTES: usize = 32 << 20;

/// Reports that are made at once. Each has a whole journal in memory, and perhaps one processor
/// for some seconds.
static REPORTS: Semaphore = Semaphore::const_new(2);

impl Service {
    pub(crate) async fn report(
        &self,
        request: GetReportRequest,
    ) -> Result<GetReportResponse, Status> {
        // A job may be long: requests wait before they load it.
        let turn = REPORTS.acquire().await;
        let job = self.job(&request.job_id, &[]).await?;
        let file_name = format!("pinpoint-{}.html", job.id);
        let (store, runtime) = (self.store.clone(), Handle::current());
        let made = tokio::task::spawn_blocking(move || {
            let made = runtime.block_on(report(&store, None, job));
            drop(turn);
            made
        });
        let made = made.await;
        let made = made.map_err(|_| Status::internal("the report can't be made"))?;
        let html = made.map_err(errors::report)?;
        if html.len() > MOST_BYTES {
            return Err(Status::failed_precondition(format!(
                "the report has {} MiB, more than the {} that the service sends; ListRuns and \
                 ListBuilds give what is in it page by page",
                html.len() >> 20,
                MOST_BYTES >> 20
            )));
        }
        Ok(GetReportResponse { file_name, html })
    }
}
