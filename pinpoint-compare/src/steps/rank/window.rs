//! The last values since a change, with their ranks.

use crate::steps::error::StepError;
use crate::steps::generator::mixed;

/// The values that are kept.
pub(super) const CAPACITY: usize = 140;

/// Values in their order with their ranks from 0, without ties.
///
/// Equal values are ordered by a hash of the seed and their numbers. So ranks of exchangeable
/// values are a uniform permutation, ties or not, which is what the thresholds assume.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    /// The number of the next value.
    pub(super) next: u64,
    pub(super) values: Vec<f64>,
    pub(super) ranks: Vec<u8>,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            next: 0,
            values: Vec::with_capacity(CAPACITY),
            ranks: Vec::with_capacity(CAPACITY),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The number of the value at index 0.
    pub(super) fn first(&self) -> u64 {
        self.next - self.len() as u64
    }

    /// Adds a value; the oldest leaves a full window.
    pub(super) fn push(&mut self, value: f64, seed: u64) {
        if self.len() == CAPACITY {
            self.drop_first(1);
        }
        let first = self.first();
        let order = |number: u64| mixed(seed ^ mixed(number));
        let tie = order(self.next);
        let mut rank = 0_u8;
        for (i, (other, its_rank)) in self.values.iter().zip(&mut self.ranks).enumerate() {
            let below = *other < value || (*other == value && order(first + i as u64) < tie);
            rank += u8::from(below);
            *its_rank += u8::from(!below);
        }
        self.values.push(value);
        self.ranks.push(rank);
        self.next += 1;
    }

    /// Forgets the oldest `count` values.
    pub(super) fn drop_first(&mut self, count: usize) {
        let count = count.min(self.len());
        self.values.drain(..count);
        if count == 1 {
            let gone = self.ranks.remove(0);
            for rank in &mut self.ranks {
                *rank -= u8::from(*rank > gone);
            }
            return;
        }
        let mut gone = [0_u8; 256];
        for rank in self.ranks.drain(..count) {
            gone[usize::from(rank)] = 1;
        }
        let mut below = 0;
        let fewer = gone.map(|it| {
            below += it;
            below
        });
        for rank in &mut self.ranks {
            *rank -= fewer[usize::from(*rank)];
        }
    }

    /// Appends the window to a packed state.
    pub(super) fn pack(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.next.to_le_bytes());
        bytes.push(self.len() as u8);
        bytes.extend(self.values.iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend(&self.ranks);
    }

    /// Reads a window from the front of `bytes`, and takes it off.
    pub(super) fn unpack(bytes: &mut &[u8]) -> Result<Self, StepError> {
        let next = u64::from_le_bytes(take(bytes)?);
        let [length] = take(bytes)?;
        let length = usize::from(length);
        if length > CAPACITY || next < length as u64 {
            return Err(StepError::BadState {
                reason: "its window is longer than a window can be",
            });
        }
        let mut window = Self::new();
        window.next = next;
        for _ in 0..length {
            window.values.push(finite(bytes)?);
        }
        let mut seen = [false; CAPACITY];
        for _ in 0..length {
            let [rank] = take(bytes)?;
            match seen[..length].get_mut(usize::from(rank)) {
                Some(slot) if !*slot => *slot = true,
                _ => {
                    return Err(StepError::BadState {
                        reason: "its ranks are not a permutation",
                    });
                }
            }
            window.ranks.push(rank);
        }
        Ok(window)
    }
}

/// Takes bytes off the front.
pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], StepError> {
    let cut = StepError::BadState {
        reason: "it is cut off",
    };
    let (head, rest) = bytes.split_first_chunk::<N>().ok_or(cut)?;
    *bytes = rest;
    Ok(*head)
}

/// Takes a finite number off the front.
pub(super) fn finite(bytes: &mut &[u8]) -> Result<f64, StepError> {
    let value = f64::from_le_bytes(take(bytes)?);
    if value.is_finite() {
        Ok(value)
    } else {
        Err(StepError::BadState {
            reason: "one of its numbers is not finite",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_sorting() {
        let mut window = Window::new();
        let mut state = 1_u64;
        for i in 0..400_u64 {
            state = mixed(state + i);
            // Coarse values have ties.
            window.push((state % 20) as f64, 5);
            if i % 97 == 96 {
                window.drop_first(30);
            }
            let first = window.first();
            let order = |i: usize| (window.values[i], mixed(5 ^ mixed(first + i as u64)));
            let mut sorted: Vec<usize> = (0..window.len()).collect();
            sorted.sort_by(|&a, &b| order(a).partial_cmp(&order(b)).unwrap());
            for (rank, &i) in sorted.iter().enumerate() {
                assert_eq!(usize::from(window.ranks[i]), rank);
            }
        }
    }
}
