-- Which push messages a worker wants, and when. Empty: all, at any time.
ALTER TABLE workers ADD COLUMN push_settings TEXT NOT NULL DEFAULT '';
