//! Annotations and shortcuts.

use pinpoint_trace_store::{Annotation, Note, TraceStoreError, shortcut_name};
use pinpoint_traces::{CommitNumber, TraceName};

use crate::common::{Fixture, id, query};

crate::on_both! {
    annotations_are_added_edited_and_deleted,
    a_shortcut_is_a_set_of_names,
}

async fn annotations_are_added_edited_and_deleted(fixture: Fixture) {
    let history = &fixture.history;
    let text = |commit, text: &str| Annotation {
        commit: CommitNumber(commit),
        query: Some(query("arch=x86")),
        note: Note::Text(text.into()),
        author: "ada".into(),
        time: 1,
    };
    let machine = Annotation {
        note: Note::MachineChanged {
            key: "bot".into(),
            before: Some("old".into()),
            after: "new".into(),
        },
        query: None,
        ..text(9, "")
    };
    let joined = Annotation {
        note: Note::Joined {
            old: id(",test=a,"),
            new: id(",test=b,"),
        },
        ..text(5, "")
    };
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
    let names: Vec<TraceName> = [
        ",test=b,",
        "@ave(filter(\"test=a\"))",
        ",test=a,",
        ",test=b,",
    ]
    .map(|it| it.parse().unwrap())
    .into();
    let name = history.keep_shortcut(&names).await.unwrap();
    assert_eq!(history.keep_shortcut(&names[..3]).await.unwrap(), name);
    let kept = history.shortcut(&name).await.unwrap();
    let kept: Vec<String> = kept.iter().map(ToString::to_string).collect();
    assert_eq!(kept, [",test=a,", ",test=b,", "@ave(filter(\"test=a\"))"]);
    // printf ',test=a,,test=b,' | md5sum
    let two = shortcut_name(&[names[0].clone(), names[2].clone()]);
    assert_eq!(two, "Xb256a952d95aee9634ba8e52ac2b711a");
    let error = history.shortcut("X0").await.unwrap_err();
    assert!(matches!(error, TraceStoreError::NoShortcut(_)), "{error}");
}
