pub(crate) use pinpoint_core::job::{
    BisectionResult as Document, NamedComparison, NamedCulprit, NamedPosterior,
};
