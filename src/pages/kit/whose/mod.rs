//! Whom a page was made for. Two people may use one browser: a page that stays open while somebody else signs in shows
//! the one and would act for the other. So every form carries a mark of its person, and is refused in another's session.

pub mod check;

use memchr::memmem;

use crate::domain::{Person, Secret};

/// The field of a form, and the parameter of a path where there is no form.
const FIELD: &str = "whose";
/// How a form that changes something begins in every template.
const FORM: &str = "<form method=\"post\"";
/// As much of the hash as tells people apart.
const MARK_LENGTH: usize = 16;

tokio::task_local! {
    /// Nearly every template has forms, so it is not handed through all of them.
    static MARK: String;
}

/// Whoever is signed in. The guard puts it on the request.
#[derive(Clone)]
pub struct Whose {
    mark: String,
    /// What people call them.
    name: String,
    banner: bool,
}

impl Whose {
    pub fn new(person: Person, name: &str, banner: bool) -> Self {
        let who = match person {
            Person::Account(id) => id.to_string(),
            Person::Worker(id) => id.to_string(),
            Person::Admin(id) => id.to_string(),
        };
        // A hash, because scripts use it in names that other pages of the browser could read.
        let mut mark = Secret::presented(&format!("page of {who}")).hash();
        mark.truncate(MARK_LENGTH);
        Self {
            mark,
            name: name.to_owned(),
            banner,
        }
    }
}

/// The mark of whoever the page that is being made is for.
pub fn mark() -> String {
    MARK.try_with(String::clone).unwrap_or_default()
}

/// Puts the mark into the forms of a page. Texts of people are escaped, so only templates begin a form. One with files
/// goes to the API as it is, and has the mark in its path.
pub fn marked(page: String) -> String {
    let mark = mark();
    if mark.is_empty() {
        return page;
    }
    let mut marked = String::with_capacity(page.len() + 1024);
    let mut parts = parts(&page);
    marked.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (rest_of_tag, after) = part.split_once('>').unwrap_or((part, ""));
        if rest_of_tag.contains("multipart/form-data") {
            marked.extend([FORM, part]);
            continue;
        }
        let field = format!("<input type=\"hidden\" name=\"{FIELD}\" value=\"{mark}\">");
        marked.extend([FORM, rest_of_tag, ">", &field, after]);
    }
    marked
}

/// What is before, between and after the beginnings of forms. `split` would look at each byte of a long page.
fn parts(page: &str) -> impl Iterator<Item = &str> {
    let starts = memmem::find_iter(page.as_bytes(), FORM).chain([page.len()]);
    starts.scan(0, |from, at| {
        let part = page.get(*from..at);
        *from = at + FORM.len();
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn marked_for(mark: &str, page: &str) -> String {
        MARK.scope(mark.to_owned(), async { marked(page.to_owned()) })
            .await
    }

    #[tokio::test]
    async fn every_form_that_changes_something_gets_the_mark() {
        let page = "<p>a</p><form method=\"post\" action=\"/x\" class=\"row\"><button>B</button></form>\
            <form method=\"get\"></form>&lt;form method=&quot;post&quot;&gt;<form method=\"post\"></form>";
        let field = "<input type=\"hidden\" name=\"whose\" value=\"abc\">";
        let marked = marked_for("abc", page).await;
        assert_eq!(marked.matches(field).count(), 2);
        assert!(marked.contains(&format!("class=\"row\">{field}<button>B")));
        assert_eq!(marked.replace(field, ""), page);
    }

    #[test]
    fn a_page_for_nobody_is_left_alone() {
        let page = "<form method=\"post\"></form>".to_owned();
        assert_eq!(super::marked(page.clone()), page);
    }

    #[test]
    fn every_template_begins_its_forms_in_the_same_way() {
        let mut folders = vec![std::path::PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/templates"
        ))];
        let mut forms = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                for form in text.split("<form").skip(1) {
                    let tag = form.split('>').next().unwrap();
                    let posts = tag.to_lowercase().contains("post\"");
                    assert!(
                        !posts || tag.starts_with(" method=\"post\""),
                        "{path:?}: {tag}"
                    );
                    forms += usize::from(posts);
                }
            }
        }
        assert!(forms > 50, "{forms}");
    }
}
