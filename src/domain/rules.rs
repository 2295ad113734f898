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

/// Text of `min` to `max` Unicode characters. White space alone counts as empty.
pub fn text(text: &str, min: usize, max: usize) -> Result<String, String> {
    if text.contains('\0') {
        return Err("must not contain the NUL character".to_owned());
    }
    // A text has at most as many characters as bytes, so a short one need not be counted.
    let too_long = text.len() > max && text.chars().count() > max;
    if min > 0 && text.trim().is_empty() {
        return Err("must not be empty".to_owned());
    }
    if too_long {
        return Err(format!("must be at most {max} characters long"));
    }
    if min > 1 && text.chars().count() < min {
        return Err(format!("must be at least {min} characters long"));
    }
    Ok(text.to_owned())
}

/// A finite number, in the notation of JSON or a query string.
pub fn number(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| "must be a number".to_owned())
}

pub fn between(number: f64, min: f64, max: f64) -> Result<f64, String> {
    if (min..=max).contains(&number) {
        Ok(number)
    } else {
        Err(format!("must be between {min} and {max}"))
    }
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
        assert!(text(&"é".repeat(200), 1, 200).is_ok());
        assert!(text(&"🏠".repeat(200), 1, 200).is_ok());
        assert!(text(&"é".repeat(201), 1, 200).is_err());
    }

    #[test]
    fn white_space_alone_is_empty_where_text_is_required() {
        for blank in ["", " ", "\t\n", "\u{2003}\u{a0}"] {
            assert!(text(blank, 1, 200).is_err(), "{blank:?}");
            assert!(text(blank, 0, 200).is_ok(), "{blank:?}");
        }
    }

    #[test]
    fn nul_is_refused_because_postgresql_cannot_store_it() {
        assert!(text("a\0b", 0, 10).is_err());
    }

    #[test]
    fn bounds_are_inclusive_and_nan_is_outside() {
        assert!(between(90.0, -90.0, 90.0).is_ok());
        assert!(between(-90.0, -90.0, 90.0).is_ok());
        assert!(between(90.000_001, -90.0, 90.0).is_err());
        assert!(between(f64::NAN, -90.0, 90.0).is_err());
        assert!(between(f64::INFINITY, -90.0, 90.0).is_err());
    }
}
