-- Whether a code of the second factor was given in a session on the pages.
ALTER TABLE sessions ADD COLUMN second_factor BIGINT NOT NULL DEFAULT 0;
