//! The sandbox's test cards, by number and as stored payment methods.

use crate::domain::PaymentFailure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Card {
    Good,
    Declined,
    InsufficientFunds,
}

impl Card {
    pub const METHODS: [(&str, Self); 3] = [
        ("pm_card_visa", Self::Good),
        ("pm_card_chargeDeclined", Self::Declined),
        (
            "pm_card_chargeDeclinedInsufficientFunds",
            Self::InsufficientFunds,
        ),
    ];

    pub const NUMBERS: [(&str, Self); 3] = [
        ("4242424242424242", Self::Good),
        ("4000000000000002", Self::Declined),
        ("4000000000009995", Self::InsufficientFunds),
    ];

    /// Finds a card by its number, ignoring spaces. The number is not stored.
    pub fn by_number(number: &str) -> Option<Self> {
        let digits: String = number
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '-')
            .collect();
        find(&Self::NUMBERS, &digits)
    }

    pub fn by_method(method: &str) -> Option<Self> {
        find(&Self::METHODS, method)
    }

    pub fn outcome(self) -> Result<(), PaymentFailure> {
        let failure = |code: &str, message: &str| {
            Err(PaymentFailure {
                code: code.to_owned(),
                message: message.to_owned(),
            })
        };
        match self {
            Self::Good => Ok(()),
            Self::Declined => failure("card_declined", "The card was declined."),
            Self::InsufficientFunds => {
                failure("insufficient_funds", "The card has insufficient funds.")
            }
        }
    }
}

fn find(known: &[(&str, Card)], wanted: &str) -> Option<Card> {
    let found = known.iter().find(|(name, _)| *name == wanted);
    found.map(|(_, card)| *card)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_be_spaced() {
        for number in [
            "4242424242424242",
            "4242 4242 4242 4242",
            " 4242-4242-4242-4242 ",
        ] {
            assert_eq!(Card::by_number(number), Some(Card::Good), "{number}");
        }
        for number in [
            "",
            "4242",
            "5555555555554444",
            "４２４２４２４２４２４２４２４２",
        ] {
            assert_eq!(Card::by_number(number), None, "{number}");
        }
    }
}
