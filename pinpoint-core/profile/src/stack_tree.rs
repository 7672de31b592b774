//! The stacks of all runs of both sides as one tree, for flame graphs.

use hashbrown::HashMap;

use super::Profile;
use super::identity::{Function, Identified};

/// The least part of a side that a stack has in a tree for a picture.
const LEAST_SHARE: f64 = 1e-4;

/// A stack of all runs, with the mean cost of exactly this stack.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StackNode {
    /// The stack that it was called from: its place in [`StackTree::nodes`].
    pub parent: usize,
    /// The function at its leaf: its place in [`StackTree::functions`].
    pub function: usize,
    /// The mean of the base's runs.
    pub base: f64,
    /// The mean of the experiment's runs.
    pub experiment: f64,
}

/// The stacks of all runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StackTree {
    /// The functions of all profiles.
    pub functions: Vec<Function>,
    /// The stacks: the first is the empty one, and a parent stands before its children.
    pub nodes: Vec<StackNode>,
}

impl StackTree {
    /// The stacks of these profiles, whose functions are known.
    pub(super) fn from_profiles(
        base: &[Profile],
        experiment: &[Profile],
        identified: &Identified,
    ) -> Self {
        let root = StackNode {
            parent: 0,
            function: 0,
            base: 0.0,
            experiment: 0.0,
        };
        let mut nodes = vec![root];
        let mut index: HashMap<(usize, u32), usize> = HashMap::new();
        let all = base.iter().chain(experiment).zip(&identified.of);
        for (run, (profile, of)) in all.enumerate() {
            let mut places = vec![0; profile.stacks.len()];
            for stack in 1..profile.stacks.len() {
                let parent = places[profile.stacks.parents[stack] as usize];
                let function = of[profile.stacks.frames[stack] as usize];
                places[stack] = *index.entry((parent, function)).or_insert_with(|| {
                    nodes.push(StackNode {
                        parent,
                        function: function as usize,
                        ..root
                    });
                    nodes.len() - 1
                });
            }
            for sample in &profile.samples {
                let node = &mut nodes[places[sample.stack.0 as usize]];
                if run < base.len() {
                    node.base += sample.weight / base.len() as f64;
                } else {
                    node.experiment += sample.weight / experiment.len() as f64;
                }
            }
        }
        Self {
            functions: identified.functions.clone(),
            nodes,
        }
    }

    /// Removes the cost without a function, and that of functions that stand for idle time.
    pub(super) fn without(mut self, is_idle: &[bool]) -> Self {
        for (place, node) in self.nodes.iter_mut().enumerate() {
            if place == 0 || is_idle.get(node.function).copied().unwrap_or_default() {
                (node.base, node.experiment) = (0.0, 0.0);
            }
        }
        self
    }

    /// The cost of each stack with all that it called, on each side.
    pub fn totals(&self) -> Vec<[f64; 2]> {
        let own = |node: &StackNode| [node.base, node.experiment];
        let mut totals: Vec<[f64; 2]> = self.nodes.iter().map(own).collect();
        for (place, node) in self.nodes.iter().enumerate().skip(1).rev() {
            let total = totals[place];
            let parent = &mut totals[node.parent];
            *parent = [parent[0] + total[0], parent[1] + total[1]];
        }
        totals
    }

    /// The tree as far as a picture can show it: without stacks that have less than 0.01 % of both
    /// sides, with all that they call; more is left out where that leaves more than `most` stacks.
    /// Their cost counts as the caller's own, so that sums stay.
    ///
    /// For each stack of this tree, its place in the other one comes with it, if it is there.
    pub fn visible(&self, most: usize) -> (Self, Vec<Option<usize>>) {
        let totals = self.totals();
        let [base, experiment] = totals[0].map(|whole| whole.max(f64::MIN_POSITIVE));
        let shares: Vec<f64> = totals
            .iter()
            .map(|total| (total[0] / base).max(total[1] / experiment))
            .collect();
        let count = |least: f64| shares.iter().filter(|share| **share >= least).count();
        let mut least = LEAST_SHARE;
        // At a share of more than one, the empty stack alone is left.
        while count(least) > most && least <= 1.0 {
            least *= 2.0;
        }
        let mut nodes: Vec<StackNode> = Vec::with_capacity(count(least));
        // Of each stack, or of the nearest caller that is left.
        let mut places = vec![0; self.nodes.len()];
        let mut kept = vec![None; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            let parent = places[node.parent];
            if place == 0 || shares[place] >= least {
                places[place] = nodes.len();
                kept[place] = Some(nodes.len());
                nodes.push(StackNode { parent, ..*node });
            } else {
                places[place] = parent;
                nodes[parent].base += node.base;
                nodes[parent].experiment += node.experiment;
            }
        }
        let functions = self.functions.clone();
        (Self { functions, nodes }, kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExplainOptions, compare_stacks};

    fn tree(base: &[&str], experiment: &[&str]) -> StackTree {
        let read = |texts: &[&str]| -> Vec<Profile> {
            let read = |text: &&str| Profile::read(text.as_bytes()).unwrap();
            texts.iter().map(read).collect()
        };
        let options = ExplainOptions::default();
        let compared = compare_stacks(&read(base), &read(experiment), &options);
        compared.unwrap().tree
    }

    fn stacks(tree: &StackTree) -> Vec<(String, f64, f64)> {
        let name = |node: &StackNode| tree.functions[node.function].name.clone();
        let mut names: Vec<String> = vec![String::new()];
        for node in tree.nodes.iter().skip(1) {
            names.push(format!("{};{}", names[node.parent], name(node)));
        }
        let nodes = tree.nodes.iter().zip(names).skip(1);
        let row = |(node, name): (&StackNode, String)| (name, node.base, node.experiment);
        nodes.map(row).collect()
    }

    #[test]
    fn stacks_of_all_runs_are_one_tree_with_means() {
        let tree = tree(
            &["main;a 4\nmain 2\n", "main;a 6\n"],
            &["main;a 5\nmain;b 1\n"],
        );
        let expected = [
            (";main", 1.0, 0.0),
            (";main;a", 5.0, 5.0),
            (";main;b", 0.0, 1.0),
        ];
        let expected = expected.map(|(name, base, experiment)| (name.to_owned(), base, experiment));
        assert_eq!(stacks(&tree), expected);
        assert_eq!(tree.totals()[0], [6.0, 6.0]);
    }

    #[test]
    fn what_a_picture_cannot_show_counts_as_the_callers_own() {
        let whole = tree(&["main;a;tiny 1\nmain;a 19999\n"], &["main;a 20000\n"]);
        let (seen, places) = whole.visible(100);
        assert_eq!(places, [Some(0), Some(1), Some(2), None]);
        let expected = [(";main", 0.0, 0.0), (";main;a", 20_000.0, 20_000.0)];
        let expected = expected.map(|(name, base, experiment)| (name.to_owned(), base, experiment));
        assert_eq!(stacks(&seen), expected);
        assert_eq!(whole.visible(1).0.nodes.len(), 1);
        assert_eq!(whole.visible(1).0.totals()[0], whole.totals()[0]);
    }
}
