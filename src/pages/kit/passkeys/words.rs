//! What the pages say of passkeys.

/// Every sentence, in one language.
#[derive(Debug)]
pub struct Words {
    pub title: &'static str,
    pub lead: &'static str,
    pub required: &'static str,
    /// Without scripts.
    pub needs_script: &'static str,
    /// The public URL of the server is none for which browsers make passkeys.
    pub no_site: &'static str,
    /// Before a link to the address at which they work.
    pub elsewhere: &'static str,
    pub unsupported: &'static str,
    pub cancelled: &'static str,
    pub failed: &'static str,
    pub sign_in: &'static str,
    pub use_it: &'static str,
    pub none: &'static str,
    pub full: &'static str,
    /// The session is from before the factor.
    pub give_factor: &'static str,
    pub name: &'static str,
    pub name_fault: &'static str,
    pub add: &'static str,
    pub made: &'static str,
    pub used: &'static str,
    pub never: &'static str,
    pub actions: &'static str,
    pub remove: &'static str,
    pub known: &'static str,
    pub expired: &'static str,
    pub unknown: &'static str,
    pub not_accepted: &'static str,
    pub codes: &'static str,
    pub codes_hint: &'static str,
    pub codes_left: &'static str,
    pub new_codes: &'static str,
    /// For the button that copies, as the script reads it.
    pub copy: &'static str,
}

pub const ENGLISH: Words = Words {
    title: "Passkeys",
    lead: "A passkey is kept by your phone, your computer or a security key, and opens with your finger, your face or a PIN. It stands for your password and a second factor together, and works on this site alone, so nobody can trick you into giving it away. Where you sign in with the password, a passkey or a code is asked for as well.",
    required: "This server requires a second factor. Add a passkey to go on.",
    needs_script: "Passkeys need JavaScript.",
    no_site: "Browsers make passkeys only for sites with a name and HTTPS. This server is reached in another way; its operator can change that.",
    elsewhere: "Passkeys do not work at this address. They work here:",
    unsupported: "This browser has no passkeys.",
    cancelled: "It was cancelled, or took too long. Try again.",
    failed: "This did not work. Load the page again, and try once more.",
    sign_in: "Sign in with a passkey",
    use_it: "Use a passkey",
    none: "You have none yet.",
    full: "You have ten passkeys, which is the most. Remove one to add another.",
    give_factor: "You have a second factor and have not given it in this session. Sign out and sign in with it to change your passkeys.",
    name: "Name, to tell it from others",
    name_fault: "Give it a name of at most 60 characters.",
    add: "Add a passkey",
    made: "Added",
    used: "Last used",
    never: "Never",
    actions: "Actions",
    remove: "Remove",
    known: "This passkey is known already.",
    expired: "That took too long, or was sent twice. Try again.",
    unknown: "This passkey is not known here. It may have been removed, or belongs to another kind of account.",
    not_accepted: "The passkey did not pass. Try again.",
    codes: "Recovery codes",
    codes_hint: "If you lose your passkeys, you sign in with your password and one of these. Each works once. Keep them where you keep important papers; they are shown this once.",
    codes_left: "Recovery codes left:",
    new_codes: "Make new ones",
    copy: "Copy|Copied",
};

/// An admin's key stays what the admin is known by.
pub const FOR_ADMINS: Words = Words {
    lead: "A passkey is kept by your phone, your computer or a security key, and opens with your finger, your face or a PIN. With one, you sign in on the console with your key and the passkey, or a code. It is for the console: programs that use your key know codes of an app alone.",
    required: "This server requires a second factor of admins. Add a passkey to go on.",
    codes_hint: "If you lose your passkeys, you sign in with your key and one of these. Each works once. Keep them where you keep important papers; they are shown this once.",
    ..ENGLISH
};
