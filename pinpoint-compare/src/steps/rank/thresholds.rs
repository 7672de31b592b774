//! Thresholds of [`scan`](super::scan) that give a constant rate of false alarms.

use crate::steps::error::StepError;

/// The rates of the columns: false alarms for each value. Those of the spread have a share of it.
const RATES: [f64; 6] = [1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5];

/// The share of false alarms that changes of spread may have.
pub(super) const SPREAD_SHARE: f64 = 0.1;

/// The share of the rate that the first alarm has. A false one starts a window with values that
/// chance has chosen, so that another one follows more often.
const FIRST_SHARE: f64 = 0.87;

/// The first window length of each row; a row holds up to the next one, the last one for good.
const LENGTHS: [usize; 12] = [20, 22, 25, 29, 34, 40, 50, 65, 85, 110, 140, 170];

include!("thresholds_table.rs");

/// The threshold of a statistic for `length` values since the last change (however many of them are
/// still in the window).
fn threshold(table: &[[f64; 6]; 12], length: u64, rate: f64) -> f64 {
    let row = LENGTHS.iter().rposition(|&first| first as u64 <= length);
    let row = &table[row.unwrap_or(0)];
    // Between two columns, the threshold is nearly linear in the logarithm of the rate.
    let column = RATES.iter().position(|&it| it <= rate).unwrap_or(5).max(1);
    let (high, low) = (RATES[column - 1], RATES[column]);
    let share = libm::log(high / rate) / libm::log(high / low);
    row[column - 1] + share * (row[column] - row[column - 1])
}

/// The thresholds of location and spread for a rate in total.
pub(super) fn thresholds(length: u64, rate: f64) -> (f64, f64) {
    (
        threshold(&LOCATION, length, rate * FIRST_SHARE * (1.0 - SPREAD_SHARE)),
        threshold(&SPREAD, length, rate * FIRST_SHARE),
    )
}

/// The rates that have thresholds.
pub(super) fn check_rate(rate: f64) -> Result<(), StepError> {
    let (least, most) = (5e-5, 1e-2);
    if (least..=most).contains(&rate) {
        Ok(())
    } else {
        Err(StepError::OutOfRange {
            argument: "rate",
            value: rate,
            least,
            most,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::{LEAST, Memory, Scan};
    use super::super::window::{CAPACITY, Window};
    use super::*;
    use crate::steps::generator::Generator;

    /// The rows, and up to where the last one is simulated.
    const END: usize = 220;

    /// The largest statistics of one series without change, for each row: location, spread.
    fn maxima(seed: u64) -> [[f32; 2]; 12] {
        let mut generator = Generator::new(seed);
        let (mut window, mut memory) = (Window::new(), Memory::default());
        let mut maxima = [[0.0_f32; 2]; 12];
        for length in 1..END {
            if window.len() == CAPACITY {
                memory.leave(&window.ranks);
            }
            window.push(generator.next() as f64, 0);
            if length < LEAST {
                continue;
            }
            let row = LENGTHS.iter().rposition(|&it| it <= length).unwrap();
            let scan = Scan::of(&window.ranks, &memory, false);
            maxima[row][0] = maxima[row][0].max(scan.location as f32);
            maxima[row][1] = maxima[row][1].max(scan.spread as f32);
        }
        maxima
    }

    /// Prints `thresholds_table.rs`, and the standard error of its entries:
    ///
    /// ```text
    /// cargo test --release -p pinpoint-compare --features rayon rank::thresholds -- --ignored --nocapture
    /// ```
    #[test]
    #[ignore = "it takes minutes, in a release build"]
    fn thresholds_are_made() {
        let series = 500_000_u64;
        #[cfg(feature = "rayon")]
        let all: Vec<_> = {
            use rayon::prelude::*;
            (0..series)
                .into_par_iter()
                .map(|i| maxima(i << 20))
                .collect()
        };
        #[cfg(not(feature = "rayon"))]
        let all: Vec<_> = (0..series).map(|i| maxima(i << 20)).collect();
        println!("// Made by the test `thresholds_are_made` from {series} series.");
        let mut worst = 0.0_f64;
        for (which, name) in ["LOCATION", "SPREAD"].into_iter().enumerate() {
            // Spread is asked for a share of the rate.
            let mut rows = [[0.0; 6]; 12];
            for (column, rate) in RATES.into_iter().enumerate() {
                let rate = if which == 0 {
                    rate
                } else {
                    rate * SPREAD_SHARE
                };
                let mut alive: Vec<&[[f32; 2]; 12]> = all.iter().collect();
                for row in 0..12 {
                    let end = LENGTHS.get(row + 1).copied().unwrap_or(END);
                    let length = (end - LENGTHS[row]) as f64;
                    let mut sorted: Vec<f32> = alive.iter().map(|it| it[row][which]).collect();
                    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
                    let alarms = sorted.len() as f64 * -libm::expm1(length * libm::log1p(-rate));
                    let at = |count: f64| {
                        f64::from(sorted[(count.max(0.0) as usize).min(sorted.len() - 1)])
                    };
                    let found = at(alarms);
                    rows[row][column] = found;
                    let error = (at(alarms - alarms.sqrt()) - at(alarms + alarms.sqrt())) / 2.0;
                    if alarms > 20.0 {
                        worst = worst.max(error);
                    }
                    alive.retain(|it| f64::from(it[row][which]) <= found);
                }
            }
            println!("#[rustfmt::skip]\nconst {name}: [[f64; 6]; 12] = [");
            for row in rows {
                let row = row.map(|it| format!("{it:.3}")).join(", ");
                println!("    [{row}],");
            }
            println!("];");
        }
        println!("// The largest standard error of an entry with 20 alarms is {worst:.3}.");
    }
}
