//! The tools that print their results on lines of their own.

use super::*;

#[test]
fn every_tool_has_a_sample() {
    for tool in LineTool::all() {
        let has_sample = FILES.iter().any(|(_, format)| *format == tool.name());
        assert!(has_sample || tool.name() == "wrk2", "{}", tool.name());
    }
}
#[test]
fn dump() {
    for (name, format_name) in FILES {
        if format_name
            .parse::<Format>()
            .is_ok_and(|it| matches!(it, Format::LineTool(_)))
        {
            let reading = format(format_name).read_with_failures(file(name).as_bytes());
            let Ok(reading) = reading else {
                println!("## {name} {reading:?}");
                continue;
            };
            println!(
                "## {name} only={:?} failed={:?} remarks={:?}",
                reading.only_measure(&format(format_name)),
                reading.failed,
                reading.remarks
            );
            for (chart, series) in &reading.charts {
                println!(
                    "   {chart:?} {:?} {:?} {:?}",
                    series.values, series.unit, series.direction
                );
            }
            println!(
                "   recognized {:?} unread {:?}",
                Format::recognize(file(name).as_bytes()),
                unread_values(file(name).as_bytes(), Some(&format(format_name)))
            );
        }
    }
}
