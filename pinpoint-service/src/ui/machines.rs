//! The noise and the offset of each machine, measured from past runs: a part of the page of
//! workers.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use pinpoint_compare::MachineNoise;
use pinpoint_report::Foreign;
use pinpoint_report::quantity::count;

use crate::api::grpc::v2::messages::Worker;
use crate::jobs::machines::JOBS;

/// The machines of the workers, and others with runs of recent jobs.
pub(super) fn section(workers: &[Worker], measured: &BTreeMap<String, MachineNoise>) -> Markup {
    let machines = workers.iter().map(|worker| &worker.machine);
    let machines: BTreeSet<_> = machines.chain(measured.keys()).collect();
    html! {
        @if !machines.is_empty() {
            section #machines aria-labelledby="machines-title" {
                h2 #machines-title { "Noise of the machines" }
                p.soft {
                    "From the runs of the last " (JOBS) " completed jobs: how much the runs of one \
                     build vary, and how far they are above or below the runs of other machines \
                     with the same build and metric."
                }
                div.wide tabindex="0" role="region" aria-label="Noise by machine" {
                    table.machines {
                        thead {
                            tr {
                                th scope="col" { "Machine" }
                                th.number scope="col" { "Runs" }
                                th.number scope="col" { "Noise" }
                                th.number scope="col" { "Noise of others" }
                                th.number scope="col" { "Offset" }
                                th.number scope="col" { "95 % interval" }
                            }
                        }
                        tbody { @for machine in machines { (row(machine, measured.get(machine))) } }
                    }
                }
                details {
                    summary { "How this is computed" }
                    p {
                        "The noise is the interquartile range of the runs of one build in \
                         percent of their median, and of several builds the median. Only builds \
                         count that were run at least 6 times; beside others, those that both ran."
                    }
                    p {
                        "For the offset, each run is paired with one of another machine, of the \
                         same build and metric, and the pairs are compared by Wilcoxon’s \
                         signed-rank test on logarithms. It takes 6 pairs. The interval is that \
                         of the runs that were made: the runs of one job share the state of the \
                         machine at that time."
                    }
                }
            }
        }
    }
}

fn row(machine: &str, noise: Option<&MachineNoise>) -> Markup {
    let noise = noise.copied().unwrap_or_default();
    let percent = |value: f64| format!("{value:.2} %");
    let too_few = || html! { span.soft { "not enough runs" } };
    html! {
        tr {
            th scope="row" { (Foreign(machine)) }
            td.number { (count(noise.runs as u64, "run")) }
            td.number { @match noise.scatter { Some(scatter) => (percent(scatter)), None => (too_few()) } }
            td.number {
                @match noise.scatter_of_others { Some(scatter) => (percent(scatter)), None => (too_few()) }
            }
            @match noise.offset {
                Some(offset) => {
                    td.number { (format!("{:+.2} %", offset.estimate)) }
                    td.number {
                        @match offset.interval {
                            Some(interval) => (format!("{:+.2} to {:+.2} %", interval.low, interval.high)),
                            None => (too_few()),
                        }
                    }
                }
                None => td.number colspan="2" { (too_few()) },
            }
        }
    }
}
