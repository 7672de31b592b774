//! The sums over all runs that a fit needs, for several kinds of noise side by side.
//!
//! Each kind of noise has separate factors and weights, and the sums go to the same places. One sum
//! after the other waits for the addition before it; those of several kinds of noise don't wait for
//! each other, and the processor adds them at the same time. The terms of each, and their order, do
//! not depend on the others.

use super::super::memory::EARLIER;
use super::{Model, Noise, Value};

/// The sums of one kind of noise. Matrices are written row by row.
pub(super) struct Sums {
    /// The sums of products of two columns: the lower triangle.
    pub(super) normal: Vec<f64>,
    /// The sums of products of a column with the values.
    pub(super) right: Vec<f64>,
    /// The sum of the squares of the values.
    pub(super) total: f64,
    /// For each site, the products of a step's column with all columns, with the values, and
    /// with itself: a step's column is the sum over the sites after it.
    pub(super) by_site: Vec<f64>,
}

/// One number for each kind of noise.
type Each<const KINDS: usize> = [f64; KINDS];

/// Sums of all kinds of noise.
struct Accumulators<const KINDS: usize> {
    normal: Vec<Each<KINDS>>,
    right: Vec<Each<KINDS>>,
    total: Each<KINDS>,
    by_site: Vec<Each<KINDS>>,
}

fn product<const KINDS: usize>(one: &Each<KINDS>, other: &Each<KINDS>) -> Each<KINDS> {
    std::array::from_fn(|kind| one[kind] * other[kind])
}

fn scaled<const KINDS: usize>(of: &Each<KINDS>, by: f64) -> Each<KINDS> {
    of.map(|number| number * by)
}

fn add<const KINDS: usize>(sum: &mut Each<KINDS>, more: &Each<KINDS>) {
    sum.iter_mut()
        .zip(more)
        .for_each(|(sum, more)| *sum += more);
}

impl Model<'_> {
    /// The sums of these kinds of noise, in their order.
    pub(super) fn sums(&self, noises: &[&Noise], columns: usize) -> Vec<Sums> {
        const ALL: usize = EARLIER + 1;
        let mut found = Vec::with_capacity(noises.len());
        let mut left = noises;
        // The compiler unrolls the loops for two columns, by far the most frequent number.
        loop {
            left = match *left {
                [a, ref rest @ ..] if !a.has_memory => {
                    found.extend(self.sums_with_columns::<1, 1>([a], columns));
                    rest
                }
                [a, b, c, d, ref rest @ ..] if [b, c, d].iter().all(|it| it.has_memory) => {
                    found.extend(self.sums_with_columns::<ALL, 4>([a, b, c, d], columns));
                    rest
                }
                [a, b, ref rest @ ..] if b.has_memory => {
                    found.extend(self.sums_with_columns::<ALL, 2>([a, b], columns));
                    rest
                }
                [a, ref rest @ ..] => {
                    found.extend(self.sums_with_columns::<ALL, 1>([a], columns));
                    rest
                }
                [] => return found,
            };
        }
    }

    fn sums_with_columns<const COUNT: usize, const KINDS: usize>(
        &self,
        noises: [&Noise; KINDS],
        columns: usize,
    ) -> [Sums; KINDS] {
        match columns {
            2 => self.sum_up::<_, COUNT, KINDS>(noises, [[0.0; KINDS]; 2]),
            _ => self.sum_up::<_, COUNT, KINDS>(noises, vec![[0.0; KINDS]; columns]),
        }
    }

    /// The sums over all differences, of `COUNT` values each; `row` and its clone have room
    /// for the columns of one.
    fn sum_up<Row, const COUNT: usize, const KINDS: usize>(
        &self,
        noises: [&Noise; KINDS],
        mut row: Row,
    ) -> [Sums; KINDS]
    where
        Row: AsMut<[Each<KINDS>]> + Clone,
    {
        let mut weighted = row.clone();
        let (row, weighted) = (row.as_mut(), weighted.as_mut());
        let columns = row.len();
        let width = columns + 2;
        let mut sums = Accumulators {
            normal: vec![[0.0; KINDS]; columns * columns],
            right: vec![[0.0; KINDS]; columns],
            total: [self.floor() * self.values.len() as f64; KINDS],
            by_site: vec![[0.0; KINDS]; self.setting.sites * width],
        };
        let by_kind = noises.map(|noise| &noise.factors[..]);
        let windows = (self.runs.windows).side_by_side::<COUNT, KINDS>(by_kind);
        for (at, (indices, factors)) in windows.enumerate() {
            let weight = noises.map(|noise| noise.weights[at]);
            row.fill([0.0; KINDS]);
            let mut number = [0.0; KINDS];
            for (index, factor) in indices.iter().zip(&factors) {
                self.add_row(&self.runs.values[*index], factor, row);
                add(&mut number, &scaled(factor, self.values[*index]));
            }
            for i in 0..columns {
                weighted[i] = product(&weight, &row[i]);
                add(&mut sums.right[i], &product(&weighted[i], &number));
                let products = &mut sums.normal[i * columns..=i * columns + i];
                for (sum, x) in products.iter_mut().zip(&*row) {
                    add(sum, &product(&weighted[i], x));
                }
            }
            let weighted_number = product(&weight, &number);
            add(&mut sums.total, &product(&weighted_number, &number));
            let starts = indices.map(|index| self.runs.sites[index] * width);
            for part in 0..COUNT {
                let (factor, start) = (&factors[part], starts[part]);
                let of_site = &mut sums.by_site[start..start + width];
                for (sum, x) in of_site.iter_mut().zip(&*weighted) {
                    add(sum, &product(factor, x));
                }
                add(&mut of_site[columns], &product(factor, &weighted_number));
                let square = product(&product(factor, factor), &weight);
                add(&mut of_site[columns + 1], &square);
                let double = product(&scaled(&weight, 2.0), factor);
                for (other, another) in starts[part + 1..].iter().zip(&factors[part + 1..]) {
                    let older = start.min(*other) + columns + 1;
                    add(&mut sums.by_site[older], &product(&double, another));
                }
            }
        }
        std::array::from_fn(|kind| sums.of(kind))
    }

    /// Adds the columns of a run, times a factor.
    fn add_row<const KINDS: usize>(
        &self,
        value: &Value,
        factor: &Each<KINDS>,
        row: &mut [Each<KINDS>],
    ) {
        let changes = self.setting.changes;
        add(&mut row[0], factor);
        for (column, change) in row[1..].iter_mut().zip(changes) {
            if value.site > *change {
                add(column, factor);
            }
        }
        let (drift, bots) = (1 + changes.len(), 2 + changes.len());
        add(&mut row[drift], &scaled(factor, value.time));
        if bots < row.len() {
            add(&mut row[bots + value.bot], factor);
        }
    }
}

impl<const KINDS: usize> Accumulators<KINDS> {
    fn of(&self, kind: usize) -> Sums {
        let of = |all: &[Each<KINDS>]| all.iter().map(|each| each[kind]).collect();
        Sums {
            normal: of(&self.normal),
            right: of(&self.right),
            total: self.total[kind],
            by_site: of(&self.by_site),
        }
    }
}
