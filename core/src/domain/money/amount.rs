//! Amounts and numbers in words.

/// `$1,234.56`
pub fn dollars(cents: i64) -> String {
    let mut text = String::with_capacity(16);
    if cents < 0 {
        text.push('−');
    }
    text.push('$');
    let cents = cents.unsigned_abs();
    push_grouped(&mut text, cents / 100);
    text.push('.');
    push_digit(&mut text, cents / 10);
    push_digit(&mut text, cents);
    text
}

/// `12,345`
pub fn grouped(number: u64) -> String {
    let mut text = String::with_capacity(8);
    push_grouped(&mut text, number);
    text
}

/// Every row of a list has several of these: digits are written where they will stand.
fn push_grouped(text: &mut String, number: u64) {
    let places = number.checked_ilog10().unwrap_or(0);
    for place in (0..=places).rev() {
        push_digit(text, number / 10_u64.pow(place));
        if place > 0 && place.is_multiple_of(3) {
            text.push(',');
        }
    }
}

/// The last one of the number.
fn push_digit(text: &mut String, number: u64) {
    text.push(char::from(b'0' + (number % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cents_are_told_as_dollars() {
        for (cents, told) in [
            (0, "$0.00"),
            (5, "$0.05"),
            (2_100, "$21.00"),
            (99_999, "$999.99"),
            (123_456, "$1,234.56"),
            (99_999_999, "$999,999.99"),
            (-250, "−$2.50"),
            (-10_000, "−$100.00"),
        ] {
            assert_eq!(dollars(cents), told);
        }
        assert_eq!(grouped(12_345), "12,345");
    }
}
