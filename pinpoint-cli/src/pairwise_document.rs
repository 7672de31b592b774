pub(crate) use pinpoint_core::job::{NamedChart, PairwiseResult as PairwiseDocument};
