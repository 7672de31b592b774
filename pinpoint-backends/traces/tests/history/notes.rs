//! Annotations and shortcuts.

use pinpoint_trace_store::TraceStoreError;
use pinpoint_traces::{Annotation, AnnotationKind, CommitNumber, Joined, MachineChange, Shortcut};

use crate::common::{Fixture, id, query};

crate::on_both! {
    annotations_are_added_edited_and_deleted,
    a_shortcut_is_a_set_of_names,
}

async fn annotations_are_added_edited_and_deleted(fixture: Fixture) {
    let history = &fixture.history;
    let text = |commit, text: &str| Annotation {
        commit: CommitNumber(commit),
        query: query("arch=x86"),
        kind: AnnotationKind::Note,
        text: text.into(),
        author: "ada".into(),
        created: 1,
        edited: None,
    };
    let machine = Annotation {
        kind: AnnotationKind::MachineChange(MachineChange {
            key: "bot".into(),
            before: "old".into(),
            after: "new".into(),
        }),
        ..text(9, "")
    };
    let joined = Annotation {
        kind: AnnotationKind::Joined(Joined {
            before: id(",test=a,"),
            after: id(",test=b,"),
        }),
        ..text(5, "")
    };
    let error = history.annotate(&text(1, "")).await.unwrap_err();
    assert!(matches!(error, TraceStoreError::Annotation(_)), "{error}");
    let first = history.annotate(&text(7, "a compiler")).await.unwrap();
    let second = history.annotate(&machine).await.unwrap();
    let third = history.annotate(&joined).await.unwrap();
    let seen = async |first, last| {
        let range = CommitNumber(first)..=CommitNumber(last);
        let seen = history.annotations(range).await.unwrap();
        seen.into_iter()
            .map(|it| (it.number, it.annotation))
            .collect::<Vec<_>>()
    };
    let all = [
        (third, joined.clone()),
        (first, text(7, "a compiler")),
        (second, machine),
    ];
    assert_eq!(seen(0, 100).await, all);
    assert_eq!(seen(8, 9).await, all[2..]);
    history
        .edit_annotation(first, &text(8, "another"))
        .await
        .unwrap();
    history.delete_annotation(second).await.unwrap();
    assert_eq!(seen(6, 100).await, [(first, text(8, "another"))]);
    for gone in [second, 99] {
        let error = history.delete_annotation(gone).await.unwrap_err();
        assert!(
            matches!(error, TraceStoreError::NoAnnotation(it) if it == gone),
            "{error}"
        );
        let error = history.edit_annotation(gone, &joined).await.unwrap_err();
        assert!(
            matches!(error, TraceStoreError::NoAnnotation(it) if it == gone),
            "{error}"
        );
    }
    // A number is not given again.
    assert!(history.annotate(&joined).await.unwrap() > third);
}

async fn a_shortcut_is_a_set_of_names(fixture: Fixture) {
    let history = &fixture.history;
    let names = [",test=b,", "@ave(filter(\"test=a\"))", ",test=a,"];
    let shortcut =
        |names: &[&str]| Shortcut::new(names.iter().map(|it| it.parse().unwrap())).unwrap();
    let id = history.keep_shortcut(&shortcut(&names)).await.unwrap();
    let reversed = shortcut(&[names[2], names[1], names[0]]);
    assert_eq!(history.keep_shortcut(&reversed).await.unwrap(), id);
    assert_eq!(history.shortcut(&id).await.unwrap(), reversed);
    let error = history
        .shortcut(&shortcut(&names[..1]).id())
        .await
        .unwrap_err();
    assert!(matches!(error, TraceStoreError::NoShortcut(_)), "{error}");
}
