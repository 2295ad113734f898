-- An admin's decision to pay a worker although the bank took the payment back.
ALTER TABLE jobs ADD COLUMN pay_charged_back BIGINT NOT NULL DEFAULT 0;
