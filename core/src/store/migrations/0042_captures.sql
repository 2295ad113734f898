-- What the device says about how a file was made, as JSON.
ALTER TABLE proofs ADD COLUMN capture TEXT DEFAULT NULL;
