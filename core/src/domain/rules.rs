//! Rules for input, and the errors they return.

/// One problem in a request, with the path of the field.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct FieldError {
    /// Path of the field, such as `location.latitude`; `body` for the whole body.
    #[schema(example = "location.latitude")]
    pub field: String,
    #[schema(example = "must be between -90 and 90")]
    pub message: String,
}

impl FieldError {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }
}

/// The errors of one request. All are counted, and the first of them kept: a hostile request can
/// have as many as it has bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldErrors {
    kept: Vec<FieldError>,
    count: usize,
}

impl FieldErrors {
    pub const MAX_KEPT: usize = 100;

    pub fn push(&mut self, field: impl FnOnce() -> String, message: impl Into<String>) {
        self.count += 1;
        if self.kept.len() < Self::MAX_KEPT {
            self.kept.push(FieldError::new(field(), message));
        }
    }

    pub fn append(&mut self, other: Self) {
        self.count += other.count;
        let room = Self::MAX_KEPT - self.kept.len();
        self.kept.extend(other.kept.into_iter().take(room));
    }

    /// The same errors, of fields of that object.
    pub fn under(mut self, object: &str) -> Self {
        for error in &mut self.kept {
            error.field = format!("{object}.{}", error.field);
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn kept(&self) -> &[FieldError] {
        &self.kept
    }
}

impl From<Vec<FieldError>> for FieldErrors {
    fn from(mut errors: Vec<FieldError>) -> Self {
        let count = errors.len();
        errors.truncate(Self::MAX_KEPT);
        Self {
            kept: errors,
            count,
        }
    }
}

/// A rule for text: bounds that a description can state, and the check that they describe.
pub struct TextRule<T = String> {
    pub min: usize,
    pub max: usize,
    pub pattern: Option<&'static str>,
    /// As JSON Schema names it, such as `email`.
    pub format: Option<&'static str>,
    pub check: fn(&TextRule<T>, &str) -> Result<T, String>,
}

const NO_NUL: &str = r"^[^\u0000]*$";
/// U+0085 is white space in Unicode, and not in the regular expressions of JSON Schema.
const NOT_BLANK: &str = r"^[^\u0000]*[^\s\u0000\u0085][^\u0000]*$";

impl TextRule {
    /// Any text of `min` to `max` Unicode characters. White space alone counts as empty.
    pub const fn plain(min: usize, max: usize) -> Self {
        Self {
            min,
            max,
            pattern: Some(if min > 0 { NOT_BLANK } else { NO_NUL }),
            format: None,
            check: TextRule::text,
        }
    }
}

impl<T> TextRule<T> {
    pub fn check(&self, text: &str) -> Result<T, String> {
        (self.check)(self, text)
    }

    /// The text itself, if it keeps to the bounds.
    pub fn text(&self, text: &str) -> Result<String, String> {
        let Self { min, max, .. } = *self;
        if text.contains('\0') {
            return Err("must not contain the NUL character".to_owned());
        }
        if min > 0 && text.trim().is_empty() {
            return Err("must not be empty".to_owned());
        }
        // A character is at most four bytes: a short text need not be counted.
        if text.len() > max && text.chars().count() > max {
            return Err(format!("must be at most {max} characters long"));
        }
        if min > 1 && text.chars().count() < min {
            return Err(format!("must be at least {min} characters long"));
        }
        Ok(text.to_owned())
    }
}

/// A finite number, as a query string or a form writes it.
pub fn number(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "must be a number".to_owned())
}

/// A rule for numbers; both bounds are inclusive.
pub struct NumberRule {
    pub min: f64,
    pub max: f64,
}

impl NumberRule {
    pub fn check(&self, number: f64) -> Result<f64, String> {
        let Self { min, max } = *self;
        if (min..=max).contains(&number) {
            Ok(number)
        } else {
            Err(format!("must be between {min} and {max}"))
        }
    }
}

/// A rule for integers; both bounds are inclusive.
pub struct IntegerRule {
    pub min: i64,
    pub max: i64,
}

impl IntegerRule {
    pub fn check(&self, integer: i64) -> Result<i64, String> {
        let Self { min, max } = *self;
        if (min..=max).contains(&integer) {
            Ok(integer)
        } else {
            Err(format!("must be between {min} and {max}"))
        }
    }
}

/// A rule for lists.
pub struct ListRule<T> {
    pub min: usize,
    /// Whether an item may not be repeated. Otherwise, a repeated item counts once.
    pub unique: bool,
    pub check: fn(Vec<T>) -> Result<Vec<T>, String>,
}

impl<T: PartialEq> ListRule<T> {
    /// Any list; a repeated item counts once.
    pub const ANY: Self = Self {
        min: 0,
        unique: false,
        check: |items| Ok(deduplicated(items)),
    };
}

/// The first of each item, in the order given.
fn deduplicated<T: PartialEq>(items: Vec<T>) -> Vec<T> {
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}

/// Refuses a list with repeated items.
pub fn distinct<T: PartialEq>(items: &[T]) -> Result<(), String> {
    let repeated = items
        .iter()
        .enumerate()
        .any(|(i, item)| items[..i].contains(item));
    if repeated {
        return Err("must not repeat an item".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_counted_in_characters_not_bytes() {
        let rule = TextRule::plain(1, 200);
        assert!(rule.check(&"é".repeat(200)).is_ok());
        assert!(rule.check(&"🏠".repeat(200)).is_ok());
        assert!(rule.check(&"é".repeat(201)).is_err());
    }

    #[test]
    fn white_space_alone_is_empty_where_text_is_required() {
        for blank in ["", " ", "\t\n", "\u{2003}\u{a0}"] {
            assert!(TextRule::plain(1, 200).check(blank).is_err(), "{blank:?}");
            assert!(TextRule::plain(0, 200).check(blank).is_ok(), "{blank:?}");
        }
    }

    #[test]
    fn nul_is_refused_because_postgresql_cannot_store_it() {
        assert!(TextRule::plain(0, 10).check("a\0b").is_err());
    }

    #[test]
    fn bounds_are_inclusive_and_nan_is_outside() {
        let rule = NumberRule {
            min: -90.0,
            max: 90.0,
        };
        assert!(rule.check(90.0).is_ok());
        assert!(rule.check(-90.0).is_ok());
        assert!(rule.check(90.000_001).is_err());
        assert!(rule.check(f64::NAN).is_err());
        assert!(rule.check(f64::INFINITY).is_err());
    }

    #[test]
    fn a_repeated_item_counts_once() {
        assert_eq!((ListRule::ANY.check)(vec![3, 1, 3]), Ok(vec![3, 1]));
    }
}
